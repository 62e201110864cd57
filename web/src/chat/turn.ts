// The state of a turn, folded from its events: its steps, sources, plan, citations, and the answer as far as it is written.

import type { AnswerMetadata, Citation, PlanStep, Source, TurnEvent, Usage, Warning } from "../api/schema";
import { applyToDraft, type DraftAnswer, NO_DRAFT } from "./draft-answer";

export type ResearchRound = NonNullable<AnswerMetadata["research"]>[number];

export type ModelUsage = { readonly model: string; readonly usage: Usage };

export type Reading = {
  readonly tokens: number;
  readonly read?: number | null;
  readonly secondsLeft?: number | null;
};

export type ToolCall = {
  readonly id: string;
  readonly name: string;
  readonly arguments: unknown;
  readonly result?: {
    readonly sources?: number | null;
    readonly error?: string | null;
    readonly note?: string | null;
    readonly data?: unknown;
  };
};

export type Step = {
  readonly number: number;
  readonly attempt: number;
  readonly node: string;
  readonly state: "running" | "finished";
  readonly milliseconds?: number;
  /** What it is doing, as the server describes it. */
  readonly status?: string;
  readonly usage: readonly ModelUsage[];
  readonly calls: readonly ToolCall[];
  /** How far the model has read, while it has not begun to write. */
  readonly reading?: Reading;
  /** Why the last attempt failed, while another one is about to start. */
  readonly retrying?: string;
};

export type Status = "running" | "interrupted" | "done" | "stopped" | "failed" | "rolled_back";

export type Turn = {
  readonly run: string;
  readonly status: Status;
  readonly steps: readonly Step[];
  readonly draft: DraftAnswer;
  readonly sources: readonly Source[];
  readonly plan: readonly PlanStep[];
  readonly research: readonly ResearchRound[];
  /** Where the answer comes from, if it was given before. */
  readonly cached?: AnswerMetadata["cached"];
  readonly citations: readonly Citation[];
  readonly warnings: readonly Warning[];
  /** What the assistant asks while the turn is interrupted. */
  readonly interrupt?: unknown;
  readonly error?: string;
  /** Whether the turn continued after the server had gone down. */
  readonly recovered: boolean;
};

export function newTurn(run: string): Turn {
  return {
    run,
    status: "running",
    steps: [],
    draft: NO_DRAFT,
    sources: [],
    plan: [],
    research: [],
    citations: [],
    warnings: [],
    recovered: false,
  };
}

export function isOver(turn: Turn): boolean {
  return turn.status !== "running" && turn.status !== "interrupted";
}

/** Whether it waits for a reply of the user. */
export function isInterrupted(turn: Turn | undefined): boolean {
  return turn?.status === "interrupted";
}

/** The answer as far as it is written. */
export function written(turn: Turn): string {
  return turn.draft.text;
}

/** The step that is running, or the last one. */
export function current(turn: Turn): Step | undefined {
  return turn.steps.findLast((step) => step.state === "running") ?? turn.steps.at(-1);
}

/** The turn after an event. */
export function apply(turn: Turn, event: TurnEvent): Turn {
  const draft = applyToDraft(turn.draft, event);
  return applyToRest(draft === turn.draft ? turn : { ...turn, draft }, event);
}

function applyToRest(turn: Turn, event: TurnEvent): Turn {
  const updateStep = (update: (step: Step) => Partial<Step>): Turn => ({
    ...turn,
    steps: turn.steps.map((step) => (step.number === event.step ? { ...step, ...update(step) } : step)),
  });
  switch (event.type) {
    case "step_started": {
      const { step: number, attempt, node } = event;
      // Another attempt replaces the one before it.
      const others = turn.steps.filter((step) => step.number !== number);
      return { ...turn, steps: [...others, { number, attempt, node, state: "running", usage: [], calls: [] }] };
    }
    case "step_finished": {
      const { milliseconds } = event;
      return updateStep(() => ({ state: "finished", milliseconds, status: undefined, retrying: undefined }));
    }
    case "step_retrying":
      return updateStep(() => ({ retrying: event.error }));
    case "status":
      return updateStep(() => ({ status: event.text }));
    case "model_reading": {
      const { tokens, read, seconds_left } = event;
      return updateStep(() => ({ reading: { tokens, read, secondsLeft: seconds_left } }));
    }
    case "model_usage": {
      const { model, usage } = event;
      return updateStep((step) => ({ usage: [...step.usage, { model, usage }], reading: undefined }));
    }
    case "tool_call_started": {
      const { id, name, arguments: given } = event;
      return updateStep((step) => ({ calls: [...step.calls, { id, name, arguments: given }] }));
    }
    case "tool_call_finished": {
      const { id, sources, data, error, note } = event;
      const result = { sources, data, error, note };
      return updateStep((step) => ({
        calls: step.calls.map((call) => (call.id === id ? { ...call, result } : call)),
      }));
    }
    case "sources":
      return { ...turn, sources: merged(turn.sources, event.sources) };
    case "plan":
      return { ...turn, plan: event.steps };
    case "research": {
      const { run: _run, seq: _seq, step: _step, attempt: _attempt, type: _type, ...round } = event;
      return { ...turn, research: [...turn.research.filter((one) => one.round !== round.round), round] };
    }
    case "cached": {
      const { run: _run, seq: _seq, step: _step, attempt: _attempt, type: _type, ...cached } = event;
      return { ...turn, cached };
    }
    case "citations":
      return { ...turn, citations: event.citations };
    case "warnings":
      return { ...turn, warnings: event.warnings };
    case "interrupted":
      return { ...turn, status: "interrupted", interrupt: event.value };
    case "resumed":
      return resumed(turn);
    case "recovered":
      return { ...turn, recovered: true };
    case "restarted":
      return { ...newTurn(turn.run), recovered: true };
    case "ended":
      return { ...turn, status: finalStatus(event.status), error: event.error ?? undefined };
    case "token":
      // The model has read everything once it writes.
      return turn.steps.some((step) => step.number === event.step && step.reading)
        ? updateStep(() => ({ reading: undefined }))
        : turn;
    case "draft_withdrawn":
    case "question":
    case "routed":
    case "searched":
    case "custom":
      return turn;
    default:
      // A newer server may send more types than this page knows.
      return turn;
  }
}

/** The turn once the user has replied. */
export function resumed(turn: Turn): Turn {
  return { ...turn, status: "running", interrupt: undefined };
}

type EndedStatus = Extract<TurnEvent, { type: "ended" }>["status"];

/** A turn that has ended is neither queued, running nor waiting, although the type allows it. */
function finalStatus(status: EndedStatus): Status {
  return status === "queued" || status === "running" || status === "waiting" ? "done" : status;
}

function merged(known: readonly Source[], more: readonly Source[]): readonly Source[] {
  const numbers = new Set(more.map((source) => source.number));
  return [...known.filter((source) => !numbers.has(source.number)), ...more].sort((a, b) => a.number - b.number);
}
