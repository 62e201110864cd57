// What a conversation shows, one after the other: questions, answers, and turns that have no answer yet.

import type { Basis, Message, Run } from "../api/schema";
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
      readonly basis: Partial<Basis> & { readonly partial?: boolean };
    }
  | {
      readonly kind: "turn";
      readonly id: string;
      readonly text: string;
      readonly position: number;
      readonly run: string;
      /** Where the run stood when it was last asked for. */
      readonly status: string;
      readonly error?: string | null;
      readonly followed?: Followed;
    };

/** The names of runs are UUIDs; other messages are named by their position. */
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/;

export function runOf(message: Message): string | undefined {
  return UUID.exec(message.id)?.[0];
}

/** The questions and answers of a conversation; a question whose turn said nothing is followed by that turn. */
export function items(messages: readonly Message[], runs: readonly Run[]): readonly Item[] {
  const list: Item[] = [];
  const known = new Set(runs.map((run) => run.run_id));
  const said = new Set(messages.map((message) => message.id));
  messages.forEach((message, index) => {
    const run = runOf(message);
    if (message.type === "ai") {
      list.push({
        kind: "answer",
        id: message.id,
        text: message.content,
        position: message.position,
        run: run && known.has(run) ? run : undefined,
        basis: message.additional_kwargs ?? {},
      });
      return;
    }
    if (message.type !== "human") return;
    list.push({ kind: "question", id: message.id, text: message.content, position: message.position });
    const next = messages[index + 1];
    if (next?.type === "ai") return;
    // In a fork, the question still has the name of the turn that it was first asked in.
    const turn =
      run && known.has(run) ? run : next ? undefined : runs.find(({ run_id }) => !said.has(run_id))?.run_id;
    const found = runs.find(({ run_id }) => run_id === turn);
    if (!found) return;
    const { run_id, status, error } = found;
    list.push({ kind: "turn", id: run_id, text: "", position: message.position + 1, run: run_id, status, error });
  });
  return list;
}

/** The same with a turn as far as it has come. */
export function withTurn(list: readonly Item[], followed: Followed | undefined): readonly Item[] {
  if (!followed) return list;
  const { turn } = followed;
  return list.map((item) =>
    item.kind === "turn" && item.run === turn.run ? { ...item, followed, text: written(turn) } : item,
  );
}

/** Whether a turn still works. */
export function isWorking(item: Item): boolean {
  if (item.kind !== "turn") return false;
  if (item.followed) return !isOver(item.followed.turn) && !item.followed.failure;
  return item.status === "pending" || item.status === "running";
}
