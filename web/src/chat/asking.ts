// Asking, in a conversation or in a fork of one.

import type { QueryClient } from "@tanstack/react-query";
import { api, body } from "../api/client";
import { names } from "../api/queries";
import { randomName } from "../api/random";
import type { Thread } from "../api/schema";
import { address, go } from "../route";
import { moveDraft } from "./draft";
import { takeAsAnswered, watch } from "./follow";

/** Who answers, and how. */
export type Way = { readonly assistant: string; readonly mode?: string; readonly format?: string };

/** What we note of a conversation. */
export type Notes = {
  readonly assistant?: string;
  readonly mode?: string | null;
  readonly format?: string | null;
  /** The conversation that it and its siblings were forked from first. */
  readonly family?: string;
  /** The one that it was forked from, and before which message. */
  readonly forked_from?: string;
  readonly forked_at?: number;
};

export function notes(thread: Thread | undefined): Notes {
  return (thread?.metadata ?? {}) as Notes;
}

/** The name of the family that a conversation belongs to: that of the first of them. */
export function familyOf(thread: Thread): string {
  return notes(thread).family ?? thread.thread_id;
}

/** Asks, and goes to where the answer will be. */
export async function ask(queries: QueryClient, thread: Thread | undefined, text: string, way: Way): Promise<void> {
  const metadata = noted(way);
  const begun = thread ?? body(await api.POST("/threads", { body: { metadata } }));
  const id = begun.thread_id;
  const path = { thread: id };
  const place = location.hash;
  try {
    if (thread && !isNoted(thread, way))
      await api.PATCH("/threads/{thread}", { params: { path }, body: { metadata } });
    const { assistant, mode, format } = way;
    const run = body(
      await api.POST("/threads/{thread}/runs", {
        params: { path },
        headers: { "idempotency-key": randomName() },
        body: {
          assistant_id: assistant,
          input: { messages: [{ role: "user", content: text }] },
          context: { ...(mode && { mode }), ...(format && { format }) },
        },
      }),
    );
    watch(id, run.run_id);
  } catch (error) {
    // A conversation in which nothing was asked is none.
    if (!thread) await api.DELETE("/threads/{thread}", { params: { path } }).catch(() => {});
    throw error;
  }
  await Promise.all([
    queries.invalidateQueries({ queryKey: names.thread(id) }),
    queries.invalidateQueries({ queryKey: names.runs(id) }),
  ]);
  void queries.invalidateQueries({ queryKey: names.threads });
  // What was written on meanwhile comes along.
  if (!thread) moveDraft(undefined, id);
  // Whoever has gone elsewhere meanwhile stays there.
  if (location.hash === place) go(address(["chat", id]));
}

/** How a conversation is to be answered, as it is noted; what is not chosen is taken back. */
function noted({ assistant, mode, format }: Way) {
  return { assistant, mode: mode ?? null, format: format ?? null };
}

function isNoted(thread: Thread, way: Way): boolean {
  const now = notes(thread);
  return Object.entries(noted(way)).every(([name, value]) => (now[name as keyof Notes] ?? null) === value);
}

/** Asks instead of a message, in a copy of the conversation up to there. The conversation itself stays as it was. */
export async function askInstead(
  queries: QueryClient,
  thread: Thread,
  position: number,
  text: string,
  way: Way,
): Promise<void> {
  const copy = body(
    await api.POST("/threads/{thread}/copy", { params: { path: { thread: thread.thread_id } }, body: { position } }),
  );
  await orUndo(queries, thread, copy.thread_id, async () => {
    await noteFork(queries, thread, copy.thread_id, position, way);
    await ask(queries, copy, text, way);
  });
}

/** Goes on from a step of a turn, in a conversation of its own. */
export async function forkFrom(queries: QueryClient, thread: Thread, run: string, position: number, step: number) {
  const forked = body(
    await api.POST("/threads/{thread}/runs/{run}/fork", {
      params: { path: { thread: thread.thread_id, run } },
      body: { step },
    }),
  );
  watch(forked.thread_id, forked.run_id);
  const { mode, format } = notes(thread);
  const way = { assistant: forked.assistant_id, mode: mode ?? undefined, format: format ?? undefined };
  await orUndo(queries, thread, forked.thread_id, () => noteFork(queries, thread, forked.thread_id, position, way));
  void queries.invalidateQueries({ queryKey: names.threads });
  go(address(["chat", forked.thread_id], { open: `way:${forked.run_id}` }));
}

/** Does what makes a copy one of ours. A copy that it fails for would stand before the conversation itself, so it goes. */
async function orUndo(queries: QueryClient, of: Thread, copy: string, doing: () => Promise<void>) {
  try {
    await doing();
  } catch (error) {
    await api.DELETE("/threads/{thread}", { params: { path: { thread: copy } } }).catch(() => {});
    void queries.invalidateQueries({ queryKey: names.family(familyOf(of)) });
    void queries.invalidateQueries({ queryKey: names.threads });
    throw error;
  }
}

async function noteFork(queries: QueryClient, from: Thread, copy: string, position: number, way: Way) {
  const family = familyOf(from);
  const metadata: Notes = { ...noted(way), family, forked_from: from.thread_id, forked_at: position };
  await api.PATCH("/threads/{thread}", { params: { path: { thread: copy } }, body: { metadata } });
  void queries.invalidateQueries({ queryKey: names.family(family) });
}

/** Answers what a turn asks. */
export async function answer(queries: QueryClient, thread: string, run: string, assistant: string, text: string) {
  await api.POST("/threads/{thread}/runs", {
    params: { path: { thread } },
    body: { assistant_id: assistant, command: { resume: text } },
  });
  takeAsAnswered(run);
  void queries.invalidateQueries({ queryKey: names.threads });
}

export async function stop(thread: string, run: string) {
  await api.POST("/threads/{thread}/runs/{run}/cancel", { params: { path: { thread, run } } });
}
