// Conversations that were forked from one another, and where they part.

import type { Thread } from "../api/schema";
import { familyOf, notes } from "./asking";

export type Versions = { readonly threads: readonly string[]; readonly current: number };

/**
 * The conversations that go on differently from a message on, this one among them. Where several were forked before the same
 * message, whether from one another or from the same, they are versions of it.
 */
export function versions(family: readonly Thread[], thread: string, position: number): Versions | undefined {
  const known = new Map(family.map((member) => [member.thread_id, member]));
  /** The conversation that a message was first said in, seen from one that has it too. */
  const base = (id: string): string => {
    const { forked_from, forked_at } = notes(known.get(id));
    return forked_from && forked_at !== undefined && position <= forked_at && known.has(forked_from)
      ? base(forked_from)
      : id;
  };
  /** The one that has the message of its own, seen from one that has it. */
  const owner = (id: string): string => {
    const { forked_from, forked_at } = notes(known.get(id));
    return forked_from && forked_at !== undefined && position < forked_at && known.has(forked_from)
      ? owner(forked_from)
      : id;
  };
  const root = base(thread);
  const forks = family.filter((member) => notes(member).forked_at === position && base(member.thread_id) === root);
  const threads = [root, ...forks.map((member) => member.thread_id)];
  const current = threads.indexOf(owner(thread));
  return threads.length > 1 && current >= 0 ? { threads, current } : undefined;
}

/** One line for each family: the one that was used last. */
export function heads(threads: readonly Thread[]): readonly Thread[] {
  const seen = new Set<string>();
  return threads.filter((thread) => {
    const family = familyOf(thread);
    return !seen.has(family) && seen.add(family);
  });
}
