// A turn as it is told: what each step did, what the answer rests on, and the answer as far as it has come.

import type { Told } from "../api/events";
import type { Citation, PlanStep, Source, Usage, Warning } from "../api/schema";

export type Spent = { readonly model: string; readonly usage: Usage };

export type Call = {
  readonly id: string;
  readonly name: string;
  readonly arguments: unknown;
  readonly result?: { readonly sources?: number; readonly error?: string; readonly data?: unknown };
};

export type Step = {
  readonly number: number;
  readonly attempt: number;
  readonly node: string;
  readonly state: "running" | "finished";
  readonly milliseconds?: number;
  /** What it is doing, in the server's words. */
  readonly doing?: string;
  readonly spent: readonly Spent[];
  readonly calls: readonly Call[];
  readonly text: string;
  readonly retrying?: string;
};

export type Status = "running" | "asked" | "done" | "stopped" | "failed" | "rolled_back";

export type Turn = {
  readonly run: string;
  readonly status: Status;
  readonly steps: readonly Step[];
  readonly sources: readonly Source[];
  readonly plan: readonly PlanStep[];
  readonly citations: readonly Citation[];
  readonly warnings: readonly Warning[];
  readonly asked?: unknown;
  readonly error?: string;
  readonly resumed: boolean;
};

export function begun(run: string): Turn {
  return {
    run,
    status: "running",
    steps: [],
    sources: [],
    plan: [],
    citations: [],
    warnings: [],
    resumed: false,
  };
}

export function isOver(turn: Turn): boolean {
  return turn.status !== "running" && turn.status !== "asked";
}

/** Whether it waits for an answer of the person. */
export function asks(turn: Turn | undefined): boolean {
  return turn?.status === "asked";
}

/** The answer as far as it has come: what the last step that wrote has written. */
export function written(turn: Turn): string {
  return turn.steps.findLast((step) => step.text !== "")?.text ?? "";
}

/** What the turn is doing now. */
export function current(turn: Turn): Step | undefined {
  return turn.steps.findLast((step) => step.state === "running") ?? turn.steps.at(-1);
}

// What comes from the server is taken as it is told; what is not known is left alone.
type Data = {
  readonly step?: number;
  readonly attempt?: number;
  readonly node?: string;
  readonly state?: string;
  readonly milliseconds?: number;
  readonly text?: string;
  // biome-ignore lint/suspicious/noExplicitAny: each event has a value of its own
  readonly value?: any;
  readonly error?: string | null;
  readonly status?: string;
};

export function apply(turn: Turn, told: Told): Turn {
  const data = told.data as Data;
  const value = data.value;
  const change = (how: (step: Step) => Partial<Step>): Turn => ({
    ...turn,
    steps: turn.steps.map((step) => (step.number === data.step ? { ...step, ...how(step) } : step)),
  });
  switch (told.name) {
    case "step":
      return data.state === "started"
        ? started(turn, data)
        : change(() => ({
            state: "finished",
            milliseconds: data.milliseconds,
            doing: undefined,
            retrying: undefined,
          }));
    case "status":
      return change(() => ({ doing: data.text }));
    case "token":
      return change((step) => ({ text: step.text + (data.text ?? "") }));
    case "again":
      return change(() => ({ text: "" }));
    case "retrying":
      return change(() => ({ retrying: data.error ?? undefined }));
    case "usage":
      return change((step) => ({ spent: [...step.spent, value] }));
    case "tool_call":
      return change((step) => ({ calls: [...step.calls, value] }));
    case "tool_result":
      return change((step) => ({
        calls: step.calls.map((call) => (call.id === value.id ? { ...call, result: value } : call)),
      }));
    case "sources":
      return { ...turn, sources: merged(turn.sources, value) };
    case "plan":
      return { ...turn, plan: value };
    case "citations":
      return { ...turn, citations: value };
    case "warning":
      return { ...turn, warnings: value };
    case "asked":
      return { ...turn, status: "asked", asked: value };
    case "answered":
      return { ...turn, status: "running", asked: undefined };
    case "resumed":
      return { ...turn, resumed: true };
    case "restarted":
      return { ...begun(turn.run), resumed: true };
    case "end":
      return { ...turn, status: (data.status as Status) ?? "done", error: data.error ?? undefined };
    default:
      return turn;
  }
}

/** A step begins. A further attempt at it takes the place of what was told of the one before. */
function started(turn: Turn, { step = 0, attempt = 1, node = "" }: Data): Turn {
  const fresh: Step = { number: step, attempt, node, state: "running", spent: [], calls: [], text: "" };
  return { ...turn, steps: [...turn.steps.filter((known) => known.number !== step), fresh] };
}

function merged(known: readonly Source[], more: readonly Source[]): readonly Source[] {
  const numbers = new Set(more.map((source) => source.number));
  return [...known.filter((source) => !numbers.has(source.number)), ...more].sort((a, b) => a.number - b.number);
}
