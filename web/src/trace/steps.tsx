// The steps of a turn: duration, tokens, cost, state update, and forking.

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { stateAfter } from "../api/queries";
import type { Thread, ThreadState } from "../api/schema";
import { nodeWords, ToolCallView } from "../chat/progress";
import { forkFrom } from "../chat/requests";
import type { Step } from "../chat/turn";
import { Icon } from "../ui/icons";
import { Problem, Waiting } from "../ui/parts";
import { useNumbers, useWords } from "../words";
import type { StepUsage } from "./usage";

type StepWithUsage = { readonly step: Step; readonly usage: StepUsage };

type StepsProps = {
  thread: Thread;
  run: string;
  position: number;
  steps: readonly StepWithUsage[];
  chosen?: number;
  onChoose: (step: number | undefined) => void;
};

export function Steps({ thread, run, position, steps, chosen, onChoose }: StepsProps) {
  const words = useWords();
  const numbers = useNumbers();
  return (
    <ol className="steps" aria-label={words.trace.list}>
      {steps.map(({ step, usage }) => {
        const open = step.number === chosen;
        return (
          <li key={step.number} className={`card ${open ? "open" : ""}`}>
            <button
              type="button"
              className="step"
              aria-expanded={open}
              onClick={() => onChoose(open ? undefined : step.number)}
            >
              <span className="soft step-number">{step.number}</span>
              <span className="grow clip strong">{nodeWords(words, step.node)}</span>
              {step.state === "running" && <span className="spin" role="img" aria-label={words.chat.working} />}
              <span className="soft small step-figures">
                {usage.read + usage.written > 0 &&
                  words.trace.tokens(numbers.count(usage.read), numbers.count(usage.written))}
                {usage.cost !== undefined && ` · ${numbers.cost(usage.cost)}`}
              </span>
              <span className="soft small step-time">
                {step.milliseconds !== undefined && numbers.time(step.milliseconds)}
              </span>
            </button>
            {open && <StepDetails thread={thread} run={run} position={position} step={step} />}
          </li>
        );
      })}
    </ol>
  );
}

type StepDetailsProps = { thread: Thread; run: string; position: number; step: Step };

function StepDetails({ thread, run, position, step }: StepDetailsProps) {
  const words = useWords();
  const queries = useQueryClient();
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    box.current?.scrollIntoView({ block: "nearest" });
  }, []);
  const enabled = step.state === "finished";
  const before = useQuery({ ...stateAfter(thread.thread_id, run, step.number - 1), enabled });
  const after = useQuery({ ...stateAfter(thread.thread_id, run, step.number), enabled });
  const fork = useMutation({
    mutationFn: () => forkFrom(queries, thread, run, position, step.number),
  });
  const error = before.error ?? after.error ?? fork.error;
  const changes = before.data && after.data ? changed(turnOf(before.data), turnOf(after.data)) : undefined;
  return (
    <div className="step-details" ref={box}>
      {step.calls.map((call) => (
        <ToolCallView key={call.id} call={call} />
      ))}
      {error && <Problem error={error} />}
      {step.state === "finished" && !changes && !error && <Waiting label={words.loading} />}
      {changes && (
        <>
          <h3>{words.trace.update}</h3>
          {changes.length === 0 && <p className="soft small">{words.trace.noUpdate}</p>}
          {changes.map(([name, value]) => (
            <details key={name} className="fold small" open={changes.length <= 2}>
              <summary>
                <code>{name}</code>
              </summary>
              <pre>{shown(value)}</pre>
            </details>
          ))}
          <details className="fold small">
            <summary>{words.trace.fullState}</summary>
            <pre>{shown(after.data && turnOf(after.data))}</pre>
          </details>
          <button type="button" className="button" disabled={fork.isPending} onClick={() => fork.mutate()}>
            <Icon name="fork" />
            {words.trace.fork}
          </button>
        </>
      )}
    </div>
  );
}

type TurnState = Record<string, unknown>;

function turnOf(state: ThreadState): TurnState {
  return (state.values.turn ?? {}) as TurnState;
}

function changed(before: TurnState, after: TurnState): readonly [string, unknown][] {
  return Object.entries(after).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name]));
}

const MAX_LENGTH = 20_000;

function shown(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  return text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}…` : text;
}
