// The key that a server with keys wants. It stays in this browser.

import { useSyncExternalStore } from "react";

const PLACE = "ibid.key";
const listeners = new Set<() => void>();
let wanted = false;

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
  wanted = false;
  tell();
}

/** The server wants a key, or another one. */
export function keyIsWanted() {
  wanted = true;
  tell();
}

export function useKeyIsWanted(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => wanted,
  );
}
