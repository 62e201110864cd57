// Progress of a turn: the current step, the plan, and the tool calls.

import { useQueryClient } from "@tanstack/react-query";
import type { PlanStep } from "../api/schema";
import { useRefocus } from "../ui/focus";
import { Icon } from "../ui/icons";
import { attempt } from "../ui/notices";
import { Problem } from "../ui/parts";
import { useNumbers, useWords, type Words } from "../words";
import { useConversation } from "./context";
import { objects } from "./field-schema";
import type { Followed } from "./follow";
import { reply, stop } from "./requests";
import {
  current,
  isInterrupted,
  isOver,
  type Reading,
  type ResearchRound,
  type Step,
  type ToolCall,
  type Turn,
  written,
} from "./turn";

export function nodeWords(words: Words, node: string): string {
  const name = node.split("/").at(-1) ?? node;
  return words.nodes[name as keyof typeof words.nodes] ?? name;
}

export function Progress({ followed }: { followed: Followed }) {
  const words = useWords();
  const { turn, failure } = followed;
  if (failure) return <Problem error={failure} />;
  if (turn.status === "failed") return <Problem error={new Error(turn.error ?? words.chat.failed)} />;
  const step = current(turn);
  const over = isOver(turn);
  return (
    <div className="progress">
      {turn.status === "running" && (
        <p className="row small soft" role="status">
          <span className="spin" aria-hidden="true" />
          <span className="clip">{step ? stepText(words, step) : words.chat.starting}</span>
        </p>
      )}
      {step?.reading && !over && <ReadingBar reading={step.reading} />}
      {isInterrupted(turn) && <Interrupted turn={turn} />}
      {turn.status === "stopped" && written(turn) === "" && <p className="notice">{words.chat.stopped}</p>}
      {step?.retrying && !over && <p className="small soft">{words.chat.retrying(step.retrying)}</p>}
      {turn.recovered && !over && <p className="small soft">{words.chat.recovered}</p>}
      {turn.plan.length > 0 && <Plan steps={turn.plan} />}
      {turn.research.length > 0 && <Research rounds={turn.research} />}
      <Tools turn={turn} />
    </div>
  );
}

/** How far the model has read, and how long that may still take. */
function ReadingBar({ reading: { tokens, read, secondsLeft } }: { reading: Reading }) {
  const words = useWords();
  const numbers = useNumbers();
  const left = secondsLeft == null ? undefined : numbers.time(1000 * secondsLeft);
  return (
    <p className="small soft">
      {words.chat.reading(numbers.count(tokens), left)}
      {read != null && <progress value={read} max={tokens} aria-label={words.chat.working} />}
    </p>
  );
}

/** The question of an interrupted turn. The reply is written in the composer. */
function Interrupted({ turn }: { turn: Turn }) {
  const words = useWords();
  const { thread, assistantOf } = useConversation();
  const queries = useQueryClient();
  const { interrupt, run } = turn;
  useRefocus(".composer textarea");
  const assistant = assistantOf(run)?.assistant_id;
  const say = (text: string) =>
    thread && assistant && attempt(reply(queries, thread.thread_id, run, assistant, text));
  return (
    <section className="notice interrupted" aria-label={words.chat.interrupted}>
      <InterruptQuestion value={interrupt} />
      {optionsIn(interrupt).length > 0 && (
        <p className="row option-replies">
          {optionsIn(interrupt).map((option) => (
            <button key={option.number} type="button" className="button" onClick={() => say(String(option.number))}>
              {option.number}. {option.title}
            </button>
          ))}
        </p>
      )}
      {isYesOrNo(interrupt) && (
        <p className="row">
          <button type="button" className="button" onClick={() => say("yes")}>
            {words.chat.allow}
          </button>
          <button type="button" className="button" onClick={() => say("no")}>
            {words.chat.deny}
          </button>
        </p>
      )}
      <p className="row small soft">
        <span className="grow">{words.chat.interruptedAbout}</span>
        <button type="button" className="button" onClick={() => thread && attempt(stop(thread.thread_id, turn.run))}>
          {words.chat.stop}
        </button>
      </p>
    </section>
  );
}

/** The options that a question is about. */
function optionsIn(value: unknown): readonly { number: number; title: string }[] {
  const given = typeof value === "object" && value !== null && "options" in value ? value.options : [];
  return objects(given).flatMap(({ number, title }) =>
    typeof number === "number" && typeof title === "string" ? [{ number, title }] : [],
  );
}

/** Whether a question is answered with yes or no. */
function isYesOrNo(value: unknown): boolean {
  const kind = typeof value === "object" && value !== null && "kind" in value ? value.kind : undefined;
  return kind === "web_search" || kind === "tool_calls";
}

/** A question in words, with what would be sent or called if it is answered with yes; anything else as it is. */
function InterruptQuestion({ value }: { value: unknown }) {
  const { question, queries, calls } = asQuestion(value);
  if (question === undefined) return <pre>{JSON.stringify(value, null, 2)}</pre>;
  return (
    <>
      <p className="strong">{question}</p>
      {queries.length > 0 && (
        <ul>
          {queries.map((query) => (
            <li key={query}>{query}</li>
          ))}
        </ul>
      )}
      {calls.map(({ id, name, arguments: given }) => (
        <pre key={String(id)}>
          {String(name)} {JSON.stringify(given, null, 2)}
        </pre>
      ))}
    </>
  );
}

function asQuestion(value: unknown) {
  if (typeof value === "string") return { question: value, queries: [], calls: [] };
  if (typeof value !== "object" || value === null || !("question" in value)) return { queries: [], calls: [] };
  const queries = "queries" in value && Array.isArray(value.queries) ? value.queries.map(String) : [];
  const calls = "calls" in value ? objects(value.calls) : [];
  return { question: String(value.question), queries, calls };
}

/** Describes a step. The server describes it in English, so a translated name is preferred. */
function stepText(words: Words, step: Step): string {
  const name = step.node.split("/").at(-1) ?? step.node;
  return name in words.nodes ? nodeWords(words, name) : (step.status ?? name);
}

export function Plan({ steps }: { steps: readonly PlanStep[] }) {
  const words = useWords();
  const done = steps.filter((step) => step.done).length;
  return (
    <details className="fold small">
      <summary>
        {words.chat.plan} <span className="soft">{words.of(done, steps.length)}</span>
      </summary>
      <ol className="plan">
        {steps.map((step) => (
          <li key={step.number} className={step.done ? "done" : ""}>
            <Icon name={step.done ? "done" : "right"} size={14} />
            <span>
              {step.description} <code>{step.action}</code>
              {step.reasoning && <span className="soft"> {step.reasoning}</span>}
              {step.done && <span className="hidden"> {words.done}</span>}
            </span>
          </li>
        ))}
      </ol>
    </details>
  );
}

/** The rounds of a research: what was found and kept, and what the checks made of each draft. */
export function Research({ rounds }: { rounds: readonly ResearchRound[] }) {
  const words = useWords();
  return (
    <details className="fold small">
      <summary>
        {words.research.title} <span className="soft">{words.research.rounds(rounds.length)}</span>
      </summary>
      <ol className="rounds">
        {rounds.map((round) => (
          <li key={round.round}>
            <Round round={round} />
          </li>
        ))}
      </ol>
    </details>
  );
}

function Round({ round: { round, searched, grades, draft, verdict } }: { round: ResearchRound }) {
  const words = useWords();
  return (
    <>
      <p>
        <span className="strong">{words.research.round(round)}</span>{" "}
        <span className="soft">{searched.join("; ")}</span>
      </p>
      <ul className="grades">
        {grades.map((grade) => (
          <li key={grade.source}>
            <span className={grade.relevance === "irrelevant" ? "chip" : "chip good"}>
              {words.research.relevance[grade.relevance]}
            </span>{" "}
            {grade.title}
            {grade.page != null && <span className="soft">, {words.page(grade.page)}</span>}
          </li>
        ))}
      </ul>
      {draft && (
        <p>
          <span className="soft">{words.research.withdrawn}</span> <del>{draft}</del>
        </p>
      )}
      {verdict && (
        <ul className="verdict">
          {verdict.unsupported.map((sentence, index) => (
            <li key={index} className="bad">
              {words.research.unsupported} <q>{sentence}</q>
            </li>
          ))}
          {(verdict.not_sure ?? []).map((sentence, index) => (
            <li key={index}>
              {words.research.notSure} <q>{sentence}</q>
            </li>
          ))}
          <li>
            {words.research.answered[verdict.answered]}
            {verdict.missing && <span className="soft"> {verdict.missing}</span>}
          </li>
        </ul>
      )}
    </>
  );
}

function Tools({ turn }: { turn: Turn }) {
  const calls = turn.steps.flatMap((step) => step.calls);
  return (
    <>
      {calls.map((call) => (
        <ToolCallView key={call.id} call={call} />
      ))}
    </>
  );
}

export function ToolCallView({ call }: { call: ToolCall }) {
  const words = useWords();
  const numbers = useNumbers();
  const { result } = call;
  return (
    <details className="fold small">
      <summary>
        {!result && <span className="spin" aria-hidden="true" />}
        <code>{call.name}</code>
        <span className="soft clip">{summary(call.arguments)}</span>
        {result?.error && <span className="chip bad">{words.chat.toolFailed}</span>}
        {result?.sources != null && (
          <span className="chip">{words.chat.toolSources(result.sources, numbers.count(result.sources))}</span>
        )}
      </summary>
      <pre>{JSON.stringify(call.arguments, null, 2)}</pre>
      {result?.error && <p className="notice bad">{result.error}</p>}
      {result?.note && <p className="notice">{result.note}</p>}
      {result?.data != null && <pre>{JSON.stringify(result.data, null, 2).slice(0, 4000)}</pre>}
    </details>
  );
}

function summary(value: unknown): string {
  return typeof value === "object" && value !== null
    ? Object.values(value)
        .filter((one) => typeof one === "string" || typeof one === "number")
        .join(", ")
    : "";
}
