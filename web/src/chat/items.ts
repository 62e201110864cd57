// The items of a conversation: questions, answers, and turns without an answer.

import type { AnswerMetadata, Message, Run } from "../api/schema";
import type { Followed } from "./follow";
import { isOver, written } from "./turn";

export type Item =
  | { readonly kind: "question"; readonly id: string; readonly text: string; readonly position: number }
  | {
      readonly kind: "answer";
      readonly id: string;
      readonly text: string;
      readonly position: number;
      readonly run?: string;
      readonly metadata: Partial<AnswerMetadata>;
    }
  | {
      readonly kind: "turn";
      readonly id: string;
      readonly text: string;
      readonly position: number;
      readonly run: string;
      /** The status of the run when it was last fetched. */
      readonly status: string;
      readonly error?: string | null;
      readonly followed?: Followed;
    };

/** Messages of runs have the UUID of the run in their ID; others have their position. */
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/;

export function runOf(message: Message): string | undefined {
  return UUID.exec(message.id)?.[0];
}

/** The items of a conversation. A question without an answer is followed by its turn. */
export function items(messages: readonly Message[], runs: readonly Run[]): readonly Item[] {
  const list: Item[] = [];
  const known = new Set(runs.map((run) => run.run_id));
  const ids = new Set(messages.map((message) => message.id));
  messages.forEach((message, index) => {
    const run = runOf(message);
    if (message.type === "ai") {
      list.push({
        kind: "answer",
        id: message.id,
        text: message.content,
        position: message.position,
        run: run && known.has(run) ? run : undefined,
        metadata: message.additional_kwargs ?? {},
      });
      return;
    }
    if (message.type !== "human") return;
    list.push({ kind: "question", id: message.id, text: message.content, position: message.position });
    const next = messages[index + 1];
    if (next?.type === "ai") return;
    // In a fork, the question still has the ID of the run that it was first asked in.
    const turn = run && known.has(run) ? run : next ? undefined : runs.find(({ run_id }) => !ids.has(run_id))?.run_id;
    const found = runs.find(({ run_id }) => run_id === turn);
    if (!found) return;
    const { run_id, status, error } = found;
    list.push({ kind: "turn", id: run_id, text: "", position: message.position + 1, run: run_id, status, error });
  });
  return list;
}

/** The items, with the current state of a turn that is followed. */
export function withTurn(list: readonly Item[], followed: Followed | undefined): readonly Item[] {
  if (!followed) return list;
  const { turn } = followed;
  return list.map((item) =>
    item.kind === "turn" && item.run === turn.run ? { ...item, followed, text: written(turn) } : item,
  );
}

/** Whether the item is a turn that is not over. */
export function isWorking(item: Item): boolean {
  if (item.kind !== "turn") return false;
  if (item.followed) return !isOver(item.followed.turn) && !item.followed.failure;
  return item.status === "pending" || item.status === "running";
}
