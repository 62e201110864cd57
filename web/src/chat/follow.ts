// Follows turns. Each turn has one stream, however many components show it.

import { useSyncExternalStore } from "react";
import { follow } from "../api/events";
import type { TurnEvent } from "../api/schema";
import { apply, newTurn, resumed, type Turn } from "./turn";

export type Followed = { readonly turn: Turn; readonly connected: boolean; readonly failure?: Error };

type Entry = {
  now: Followed;
  set: (change: Partial<Followed>) => void;
  listeners: Set<() => void>;
  abort: AbortController;
  /** Removes the entry some time after its last listener has left. */
  expiry?: ReturnType<typeof setTimeout>;
};

const entries = new Map<string, Entry>();
const EXPIRES_AFTER = 60_000;

function entry(thread: string, run: string): Entry {
  const known = entries.get(run);
  if (known) return known;
  const created: Entry = {
    now: { turn: newTurn(run), connected: true },
    set: (change) => {
      created.now = { ...created.now, ...change };
      notify();
    },
    listeners: new Set(),
    abort: new AbortController(),
  };
  entries.set(run, created);
  let scheduled = false;
  // Tokens arrive faster than the screen refreshes: listeners are notified once per frame.
  const notify = () => {
    if (scheduled) return;
    scheduled = true;
    requestAnimationFrame(() => {
      scheduled = false;
      for (const listener of created.listeners) listener();
    });
  };
  const { set } = created;
  follow<TurnEvent>({
    address: `/threads/${thread}/runs/${run}/stream?format=ibid`,
    onEvent: (event) => set({ turn: apply(created.now.turn, event) }),
    onConnection: (connected) => set({ connected }),
    signal: created.abort.signal,
  }).catch((failure: Error) => set({ failure }));
  return created;
}

/** Starts to follow a turn before a component shows it. */
export function watch(thread: string, run: string) {
  expireLater(run, entry(thread, run));
}

/** Stops following a turn if no component shows it for a while. */
function expireLater(run: string, own: Entry) {
  if (own.listeners.size > 0) return;
  clearTimeout(own.expiry);
  own.expiry = setTimeout(() => {
    own.abort.abort();
    entries.delete(run);
  }, EXPIRES_AFTER);
}

/** The state of a turn that is being followed. */
export function followedTurn(run: string): Turn | undefined {
  return entries.get(run)?.now.turn;
}

/** Marks a turn as resumed without waiting for the event, unless it has changed since: a short turn may even be over. */
export function markAsResumed(run: string, since: Turn | undefined) {
  const own = entries.get(run);
  if (own && own.now.turn === since) own.set({ turn: resumed(since) });
}

/** The current state of a turn, updated as its events arrive. */
export function useTurn(thread: string | undefined, run: string | undefined): Followed | undefined {
  const subscribe = (listener: () => void) => {
    if (!thread || !run) return () => {};
    const own = entry(thread, run);
    clearTimeout(own.expiry);
    own.listeners.add(listener);
    return () => {
      own.listeners.delete(listener);
      expireLater(run, own);
    };
  };
  return useSyncExternalStore(subscribe, () => (thread && run ? entry(thread, run).now : undefined));
}
