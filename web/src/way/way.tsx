// The way that an answer took: a picture of the assistant's graph, and what each step did, took and changed. While a turn
// works, it moves.

import "./way.css";
import { useState } from "react";
import { useGraph, useRuns, useStatus } from "../api/queries";
import type { Thread } from "../api/schema";
import { useTurn } from "../chat/follow";
import { isOver } from "../chat/turn";
import { Problem, Waiting } from "../ui/parts";
import { useNumbers, useWords } from "../words";
import { Drawing } from "./drawing";
import { useWholeWay } from "./shared";
import { priced, total } from "./spending";
import { Steps } from "./steps";

type WayProps = { thread: Thread; run: string; position: number };

export function WayView({ thread, run, position }: WayProps) {
  const words = useWords();
  const numbers = useNumbers();
  const runs = useRuns(thread.thread_id);
  const known = runs.data?.find((one) => one.run_id === run);
  const graph = useGraph(known?.assistant_id);
  const followed = useTurn(thread.thread_id, run);
  const models = useStatus().data?.models;
  const [chosen, choose] = useState<number>();
  const whole = useWholeWay(thread.thread_id, run, followed?.turn.steps ?? []);
  const steps = whole.map((step) => ({ step, took: priced(step, models ?? []) }));
  const error = graph.error ?? followed?.failure;
  const all = total(steps.map(({ took }) => took));
  const milliseconds = steps.reduce((sum, { step }) => sum + (step.milliseconds ?? 0), 0);
  return (
    <div className="way">
      <h2>{words.way.title}</h2>
      {error && <Problem error={error} />}
      {!graph.data && !error && <Waiting label={words.loading} />}
      {graph.data && followed && (
        <>
          <p className="small soft way-sum">
            {known?.assistant_id} · {words.way.steps(steps.length)} · {numbers.time(milliseconds)}
            {all.read + all.written > 0 &&
              ` · ${words.way.tokens(numbers.count(all.read), numbers.count(all.written))}`}
            {all.cost !== undefined && ` · ${numbers.cost(all.cost)}`}
          </p>
          <Drawing
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
