// Forks of a conversation, and where they diverge.

import type { Thread } from "../api/schema";
import { familyOf, threadMetadata } from "./requests";

export type Versions = { readonly threads: readonly string[]; readonly current: number };

/**
 * The conversations that diverge at a message, including this one. Conversations that were forked at the same message are
 * versions of it, whether they were forked from each other or from the same one.
 */
export function versions(family: readonly Thread[], thread: string, position: number): Versions | undefined {
  const known = new Map(family.map((member) => [member.thread_id, member]));
  /** The conversation that a message was first sent in, starting from one that contains it. */
  const base = (id: string): string => {
    const { forked_from, forked_at } = threadMetadata(known.get(id));
    return forked_from && forked_at !== undefined && position <= forked_at && known.has(forked_from)
      ? base(forked_from)
      : id;
  };
  /** The conversation that owns the message, starting from one that contains it. */
  const owner = (id: string): string => {
    const { forked_from, forked_at } = threadMetadata(known.get(id));
    return forked_from && forked_at !== undefined && position < forked_at && known.has(forked_from)
      ? owner(forked_from)
      : id;
  };
  const root = base(thread);
  const forks = family.filter(
    (member) => threadMetadata(member).forked_at === position && base(member.thread_id) === root,
  );
  const threads = [root, ...forks.map((member) => member.thread_id)];
  const current = threads.indexOf(owner(thread));
  return threads.length > 1 && current >= 0 ? { threads, current } : undefined;
}

/** The most recently used conversation of each family. */
export function heads(threads: readonly Thread[]): readonly Thread[] {
  const seen = new Set<string>();
  return threads.filter((thread) => {
    const family = familyOf(thread);
    return !seen.has(family) && seen.add(family);
  });
}
