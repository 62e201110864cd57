// Each step of a turn: how long it took, what it cost, what it changed, and going on from there differently.

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { stateAfter } from "../api/queries";
import type { Thread, ThreadState } from "../api/schema";
import { forkFrom } from "../chat/asking";
import { nodeWords, ToolCall } from "../chat/progress";
import type { Step } from "../chat/turn";
import { Icon } from "../ui/icons";
import { Problem, Waiting } from "../ui/parts";
import { useNumbers, useWords } from "../words";
import type { Took } from "./spending";

type Taken = { readonly step: Step; readonly took: Took };

type StepsProps = {
  thread: Thread;
  run: string;
  position: number;
  steps: readonly Taken[];
  chosen?: number;
  onChoose: (step: number | undefined) => void;
};

export function Steps({ thread, run, position, steps, chosen, onChoose }: StepsProps) {
  const words = useWords();
  const numbers = useNumbers();
  return (
    <ol className="steps" aria-label={words.way.list}>
      {steps.map(({ step, took }) => {
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
                {took.read + took.written > 0 &&
                  words.way.tokens(numbers.count(took.read), numbers.count(took.written))}
                {took.cost !== undefined && ` · ${numbers.cost(took.cost)}`}
              </span>
              <span className="soft small step-time">
                {step.milliseconds !== undefined && numbers.time(step.milliseconds)}
              </span>
            </button>
            {open && <Inside thread={thread} run={run} position={position} step={step} />}
          </li>
        );
      })}
    </ol>
  );
}

type InsideProps = { thread: Thread; run: string; position: number; step: Step };

function Inside({ thread, run, position, step }: InsideProps) {
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
    <div className="step-inside" ref={box}>
      {step.calls.map((call) => (
        <ToolCall key={call.id} call={call} />
      ))}
      {error && <Problem error={error} />}
      {step.state === "finished" && !changes && !error && <Waiting label={words.loading} />}
      {changes && (
        <>
          <h3>{words.way.changed}</h3>
          {changes.length === 0 && <p className="soft small">{words.way.nothing}</p>}
          {changes.map(([name, value]) => (
            <details key={name} className="fold small" open={changes.length <= 2}>
              <summary>
                <code>{name}</code>
              </summary>
              <pre>{shown(value)}</pre>
            </details>
          ))}
          <details className="fold small">
            <summary>{words.way.state}</summary>
            <pre>{shown(after.data && turnOf(after.data))}</pre>
          </details>
          <button type="button" className="button" disabled={fork.isPending} onClick={() => fork.mutate()}>
            <Icon name="fork" />
            {words.way.fork}
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

const LONGEST = 20_000;

function shown(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}
