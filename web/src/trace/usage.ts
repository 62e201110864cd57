// Tokens and cost of steps. The cost is known if the prices of the models are.

import type { Model } from "../api/schema";
import type { Step } from "../chat/turn";

export type StepUsage = { readonly read: number; readonly written: number; readonly cost?: number };

const MILLION = 1_000_000;

export function usageOf(step: Step, models: readonly Model[]): StepUsage {
  return total(
    step.usage.map(({ model, usage }) => {
      const known = models.find((one) => one.model === model || one.name === model);
      const [read, written] = [usage.input_tokens, usage.output_tokens];
      const { input_price: input, output_price: output } = known ?? {};
      const cost = input != null && output != null ? (read * input + written * output) / MILLION : undefined;
      return { read, written, cost };
    }),
  );
}

export function total(all: readonly StepUsage[]): StepUsage {
  const costs = all.flatMap(({ cost }) => cost ?? []);
  return {
    read: all.reduce((sum, { read }) => sum + read, 0),
    written: all.reduce((sum, { written }) => sum + written, 0),
    cost: costs.length > 0 ? costs.reduce((sum, cost) => sum + cost, 0) : undefined,
  };
}
