// Requests that start, resume, fork and stop turns.

import type { QueryClient } from "@tanstack/react-query";
import { api, body } from "../api/client";
import { names } from "../api/queries";
import { randomId } from "../api/random";
import type { Thread } from "../api/schema";
import { address, go } from "../route";
import { moveDraft } from "./draft";
import { followedTurn, markAsResumed, watch } from "./follow";

/** Which assistant answers, and how. */
export type TurnOptions = {
  readonly assistant: string;
  readonly mode?: string;
  readonly format?: string;
  /** The only document to answer from, by its ID. */
  readonly document?: string;
  /** Whether to answer anew, even if the question was answered before. */
  readonly anew?: boolean;
};

/** What the page stores in the metadata of a thread. */
export type ThreadMetadata = {
  readonly assistant?: string;
  readonly mode?: string | null;
  readonly format?: string | null;
  readonly document?: string | null;
  /** The conversation that it and its siblings were originally forked from. */
  readonly family?: string;
  /** The conversation that it was forked from, and the position of the first message that differs. */
  readonly forked_from?: string;
  readonly forked_at?: number;
};

export function threadMetadata(thread: Thread | undefined): ThreadMetadata {
  return (thread?.metadata ?? {}) as ThreadMetadata;
}

/** The ID of the family of a conversation: that of the original one. */
export function familyOf(thread: Thread): string {
  return threadMetadata(thread).family ?? thread.thread_id;
}

/** Sends a question, and opens the conversation that it is asked in. */
export async function ask(
  queries: QueryClient,
  thread: Thread | undefined,
  text: string,
  options: TurnOptions,
): Promise<void> {
  const metadata = optionsMetadata(options);
  const opened = thread ?? body(await api.POST("/threads", { body: { metadata } }));
  const id = opened.thread_id;
  const path = { thread: id };
  const route = location.hash;
  try {
    if (thread && !hasOptions(thread, options))
      await api.PATCH("/threads/{thread}", { params: { path }, body: { metadata } });
    const { assistant, mode, format, document, anew } = options;
    const run = body(
      await api.POST("/threads/{thread}/runs", {
        params: { path },
        headers: { "idempotency-key": randomId() },
        body: {
          assistant_id: assistant,
          input: { messages: [{ role: "user", content: text }] },
          context: {
            ...(mode && { mode }),
            ...(format && { format }),
            ...(document && { documents: [document] }),
            ...(anew && { cache: false }),
          },
        },
      }),
    );
    watch(id, run.run_id);
  } catch (error) {
    // Do not leave an empty conversation behind.
    if (!thread) await api.DELETE("/threads/{thread}", { params: { path } }).catch(() => {});
    throw error;
  }
  await Promise.all([
    queries.invalidateQueries({ queryKey: names.thread(id) }),
    queries.invalidateQueries({ queryKey: names.runs(id) }),
  ]);
  void queries.invalidateQueries({ queryKey: names.threads });
  // Text typed in the meantime moves to the new conversation.
  if (!thread) moveDraft(undefined, id);
  // Do not navigate if the user has gone elsewhere in the meantime.
  if (location.hash === route) go(address(["chat", id]));
}

/** The options as metadata of a thread; null removes an option. */
function optionsMetadata({ assistant, mode, format, document }: TurnOptions) {
  return { assistant, mode: mode ?? null, format: format ?? null, document: document ?? null };
}

/** The options that are stored with a conversation, except for the assistant. */
export function storedOptions(thread: Thread | undefined): Omit<TurnOptions, "assistant"> {
  const { mode, format, document } = threadMetadata(thread);
  return { mode: mode ?? undefined, format: format ?? undefined, document: document ?? undefined };
}

function hasOptions(thread: Thread, options: TurnOptions): boolean {
  const now = threadMetadata(thread);
  return Object.entries(optionsMetadata(options)).every(
    ([name, value]) => (now[name as keyof ThreadMetadata] ?? null) === value,
  );
}

/** Asks a question instead of a message, in a fork of the conversation. The original stays as it is. */
export async function askInstead(
  queries: QueryClient,
  thread: Thread,
  position: number,
  text: string,
  options: TurnOptions,
): Promise<void> {
  const copy = body(
    await api.POST("/threads/{thread}/copy", { params: { path: { thread: thread.thread_id } }, body: { position } }),
  );
  await orDelete(queries, thread, copy.thread_id, async () => {
    await tagFork(queries, thread, copy.thread_id, position, options);
    await ask(queries, copy, text, options);
  });
}

/** Forks a conversation from a step of a turn. */
export async function forkFrom(queries: QueryClient, thread: Thread, run: string, position: number, step: number) {
  const forked = body(
    await api.POST("/threads/{thread}/runs/{run}/fork", {
      params: { path: { thread: thread.thread_id, run } },
      body: { step },
    }),
  );
  watch(forked.thread_id, forked.run_id);
  const options = { ...storedOptions(thread), assistant: forked.assistant_id };
  await orDelete(queries, thread, forked.thread_id, () =>
    tagFork(queries, thread, forked.thread_id, position, options),
  );
  void queries.invalidateQueries({ queryKey: names.threads });
  go(address(["chat", forked.thread_id], { open: `trace:${forked.run_id}` }));
}

/** Completes a fork; deletes it if that fails, because an untagged copy would hide the original in the list. */
async function orDelete(queries: QueryClient, of: Thread, copy: string, complete: () => Promise<void>) {
  try {
    await complete();
  } catch (error) {
    await api.DELETE("/threads/{thread}", { params: { path: { thread: copy } } }).catch(() => {});
    void queries.invalidateQueries({ queryKey: names.family(familyOf(of)) });
    void queries.invalidateQueries({ queryKey: names.threads });
    throw error;
  }
}

async function tagFork(queries: QueryClient, from: Thread, copy: string, position: number, options: TurnOptions) {
  const family = familyOf(from);
  const metadata: ThreadMetadata = {
    ...optionsMetadata(options),
    family,
    forked_from: from.thread_id,
    forked_at: position,
  };
  await api.PATCH("/threads/{thread}", { params: { path: { thread: copy } }, body: { metadata } });
  void queries.invalidateQueries({ queryKey: names.family(family) });
}

/** Replies to an interrupted turn. */
export async function reply(queries: QueryClient, thread: string, run: string, assistant: string, text: string) {
  const interrupted = followedTurn(run);
  await api.POST("/threads/{thread}/runs", {
    params: { path: { thread } },
    body: { assistant_id: assistant, command: { resume: text } },
  });
  markAsResumed(run, interrupted);
  void queries.invalidateQueries({ queryKey: names.threads });
}

export async function stop(thread: string, run: string) {
  await api.POST("/threads/{thread}/runs/{run}/cancel", { params: { path: { thread, run } } });
}
