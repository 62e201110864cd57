// The trace of a turn: the graph of the assistant with the path taken, and the steps. It updates while the turn runs.

import "./trace.css";
import { useState } from "react";
import { useGraph, useRuns, useStatus } from "../api/queries";
import type { Thread } from "../api/schema";
import { useTurn } from "../chat/follow";
import { isOver } from "../chat/turn";
import { Problem, Waiting } from "../ui/parts";
import { useNumbers, useWords } from "../words";
import { useAllSteps } from "./all-steps";
import { GraphView } from "./graph";
import { Steps } from "./steps";
import { total, usageOf } from "./usage";

type TraceProps = { thread: Thread; run: string; position: number };

export function TraceView({ thread, run, position }: TraceProps) {
  const words = useWords();
  const numbers = useNumbers();
  const runs = useRuns(thread.thread_id);
  const known = runs.data?.find((one) => one.run_id === run);
  const graph = useGraph(known?.assistant_id);
  const followed = useTurn(thread.thread_id, run);
  const models = useStatus().data?.models;
  const [chosen, choose] = useState<number>();
  const allSteps = useAllSteps(thread.thread_id, run, followed?.turn.steps ?? []);
  const steps = allSteps.map((step) => ({ step, usage: usageOf(step, models ?? []) }));
  const error = graph.error ?? followed?.failure;
  const all = total(steps.map(({ usage }) => usage));
  const milliseconds = steps.reduce((sum, { step }) => sum + (step.milliseconds ?? 0), 0);
  return (
    <div className="trace">
      <h2>{words.trace.title}</h2>
      {error && <Problem error={error} />}
      {!graph.data && !error && <Waiting label={words.loading} />}
      {graph.data && followed && (
        <>
          <p className="small soft trace-summary">
            {known?.assistant_id} · {words.trace.steps(steps.length)} · {numbers.time(milliseconds)}
            {all.read + all.written > 0 &&
              ` · ${words.trace.tokens(numbers.count(all.read), numbers.count(all.written))}`}
            {all.cost !== undefined && ` · ${numbers.cost(all.cost)}`}
          </p>
          <GraphView
            graph={graph.data}
            steps={steps.map(({ step }) => step)}
            over={isOver(followed.turn)}
            chosen={steps.find(({ step }) => step.number === chosen)?.step.node}
            onChoose={(node) => choose(steps.findLast(({ step }) => step.node === node)?.step.number)}
          />
          <Steps thread={thread} run={run} position={position} steps={steps} chosen={chosen} onChoose={choose} />
        </>
      )}
    </div>
  );
}
