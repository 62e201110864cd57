// The API key, if the server requires one. It is stored in this browser only.

import { useSyncExternalStore } from "react";

const STORAGE_KEY = "ibid.key";
const listeners = new Set<() => void>();
/** How often a key was requested. */
let requests = 0;

function notify() {
  for (const listener of listeners) listener();
}

export function key(): string | null {
  return localStorage.getItem(STORAGE_KEY);
}

/** Stores a key, or removes it. */
export function storeKey(text: string | null) {
  if (text) localStorage.setItem(STORAGE_KEY, text);
  else localStorage.removeItem(STORAGE_KEY);
  notify();
}

/** Asks the user for a key, or for another one. */
export function requestKey() {
  requests += 1;
  notify();
}

/** How often a key was requested. */
export function useKeyRequests(): number {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => requests,
  );
}
