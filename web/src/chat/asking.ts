// Asking, in a conversation or in a fork of one.

import type { QueryClient } from "@tanstack/react-query";
import { api, body } from "../api/client";
import { names } from "../api/queries";
import type { Thread } from "../api/schema";
import { address, go } from "../route";
import { watch } from "./follow";

/** Who answers, and how. */
export type Way = { readonly assistant: string; readonly mode?: string; readonly format?: string };

/** What we note of a conversation. */
export type Notes = {
  readonly assistant?: string;
  readonly mode?: string;
  readonly format?: string;
  /** The conversation that it and its siblings were forked from first. */
  readonly family?: string;
  /** The one that it was forked from, and before which message. */
  readonly forked_from?: string;
  readonly forked_at?: number;
};

export function notes(thread: Thread | undefined): Notes {
  return (thread?.metadata ?? {}) as Notes;
}

/** Asks, and goes to where the answer will be. */
export async function ask(queries: QueryClient, thread: string | undefined, text: string, way: Way): Promise<void> {
  const { assistant, mode, format } = way;
  const metadata = { assistant, mode, format };
  const id = thread ?? body(await api.POST("/threads", { body: { metadata } })).thread_id;
  const run = body(
    await api.POST("/threads/{thread}/runs", {
      params: { path: { thread: id } },
      headers: { "idempotency-key": crypto.randomUUID() },
      body: {
        assistant_id: assistant,
        input: { messages: [{ role: "user", content: text }] },
        context: { ...(mode && { mode }), ...(format && { format }) },
      },
    }),
  );
  watch(id, run.run_id);
  await Promise.all([
    queries.invalidateQueries({ queryKey: names.thread(id) }),
    queries.invalidateQueries({ queryKey: names.runs(id) }),
  ]);
  void queries.invalidateQueries({ queryKey: names.threads });
  go(address(["chat", id]));
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
  await noteFork(queries, thread, copy.thread_id, position, way);
  await ask(queries, copy.thread_id, text, way);
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
  const { assistant = forked.assistant_id, mode, format } = notes(thread);
  await noteFork(queries, thread, forked.thread_id, position, { assistant, mode, format });
  void queries.invalidateQueries({ queryKey: names.threads });
  go(address(["chat", forked.thread_id], { open: `way:${forked.run_id}` }));
}

async function noteFork(queries: QueryClient, from: Thread, copy: string, position: number, way: Way) {
  const family = notes(from).family ?? from.thread_id;
  const { assistant, mode, format } = way;
  const metadata: Notes = { assistant, mode, format, family, forked_from: from.thread_id, forked_at: position };
  await api.PATCH("/threads/{thread}", { params: { path: { thread: copy } }, body: { metadata } });
  void queries.invalidateQueries({ queryKey: names.family(family) });
}

export async function stop(thread: string, run: string) {
  await api.POST("/threads/{thread}/runs/{run}/cancel", { params: { path: { thread, run } } });
}

export async function answerQuestion(thread: string, assistant: string, answer: unknown) {
  await api.POST("/threads/{thread}/runs", {
    params: { path: { thread } },
    body: { assistant_id: assistant, command: { resume: answer } },
  });
}
