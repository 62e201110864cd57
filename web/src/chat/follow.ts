// Follows turns, each once, however many parts of the page look at it.

import { useSyncExternalStore } from "react";
import { follow } from "../api/events";
import { apply, begun, type Turn } from "./turn";

export type Followed = { readonly turn: Turn; readonly connected: boolean; readonly failure?: Error };

type Entry = {
  now: Followed;
  set: (change: Partial<Followed>) => void;
  listeners: Set<() => void>;
  stop: AbortController;
  /** When everybody has looked away, it is forgotten after a while. */
  forget?: ReturnType<typeof setTimeout>;
};

const entries = new Map<string, Entry>();
const FORGOTTEN_AFTER = 60_000;

function entry(thread: string, run: string): Entry {
  const known = entries.get(run);
  if (known) return known;
  const made: Entry = {
    now: { turn: begun(run), connected: true },
    set: (change) => {
      made.now = { ...made.now, ...change };
      tell();
    },
    listeners: new Set(),
    stop: new AbortController(),
  };
  entries.set(run, made);
  let told = false;
  // Words come faster than a screen can show them.
  const tell = () => {
    if (told) return;
    told = true;
    requestAnimationFrame(() => {
      told = false;
      for (const listener of made.listeners) listener();
    });
  };
  const { set } = made;
  follow({
    address: `/threads/${thread}/runs/${run}/stream?format=ibid`,
    hear: (event) => set({ turn: apply(made.now.turn, event) }),
    connected: (connected) => set({ connected }),
    ends: (event) => event.name === "end",
    signal: made.stop.signal,
  }).catch((failure: Error) => set({ failure }));
  return made;
}

/** Begins to follow a turn, so that nothing is missed before somebody looks. */
export function watch(thread: string, run: string) {
  forgetLater(run, entry(thread, run));
}

/** Forgets a turn that nobody looks at for a while. */
function forgetLater(run: string, own: Entry) {
  if (own.listeners.size > 0) return;
  clearTimeout(own.forget);
  own.forget = setTimeout(() => {
    own.stop.abort();
    entries.delete(run);
  }, FORGOTTEN_AFTER);
}

/** Takes a turn as answered, shortly before the server tells it. */
export function takeAsAnswered(run: string) {
  const own = entries.get(run);
  own?.set({ turn: apply(own.now.turn, { id: 0, name: "answered", data: {} }) });
}

/** A turn as it stands, and as it goes on. */
export function useTurn(thread: string | undefined, run: string | undefined): Followed | undefined {
  const subscribe = (listener: () => void) => {
    if (!thread || !run) return () => {};
    const own = entry(thread, run);
    clearTimeout(own.forget);
    own.listeners.add(listener);
    return () => {
      own.listeners.delete(listener);
      forgetLater(run, own);
    };
  };
  return useSyncExternalStore(subscribe, () => (thread && run ? entry(thread, run).now : undefined));
}
