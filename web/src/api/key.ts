// The key that a server with keys wants. It stays in this browser.

import { useSyncExternalStore } from "react";

const PLACE = "ibid.key";
const listeners = new Set<() => void>();
/** How often one was wanted. */
let wanted = 0;

function tell() {
  for (const listener of listeners) listener();
}

export function key(): string | null {
  return localStorage.getItem(PLACE);
}

/** Keeps a key, or forgets it. */
export function keep(text: string | null) {
  if (text) localStorage.setItem(PLACE, text);
  else localStorage.removeItem(PLACE);
  tell();
}

/** The server wants a key, or another one. */
export function keyIsWanted() {
  wanted += 1;
  tell();
}

/** How often the server wanted a key. */
export function useKeyIsWanted(): number {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => wanted,
  );
}
