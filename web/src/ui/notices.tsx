// What went wrong with something that was done in passing, told where it is seen from everywhere.

import { useSyncExternalStore } from "react";
import { useWords } from "../words";
import { IconButton, Problem } from "./parts";

let failure: unknown;
const listeners = new Set<() => void>();

/** Tells what went wrong; undefined takes it back. */
export function tell(error: unknown) {
  failure = error;
  for (const listener of listeners) listener();
}

/** Does something, and tells if it fails. */
export function attempt(doing: Promise<unknown>) {
  tell(undefined);
  doing.catch(tell);
}

export function Notices() {
  const words = useWords();
  const error = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => failure,
  );
  if (error === undefined) return null;
  return (
    <div className="notices card">
      <Problem error={error} />
      <IconButton icon="close" label={words.close} onClick={() => tell(undefined)} />
    </div>
  );
}
