// Notices about actions that failed, visible from every view.

import { useSyncExternalStore } from "react";
import { useWords } from "../words";
import { IconButton, Problem } from "./parts";

let failure: unknown;
const listeners = new Set<() => void>();

/** Shows an error; undefined hides it. */
export function showError(error: unknown) {
  failure = error;
  for (const listener of listeners) listener();
}

/** Shows an error if the action fails. */
export function attempt(action: Promise<unknown>) {
  showError(undefined);
  action.catch(showError);
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
      <IconButton icon="close" label={words.close} onClick={() => showError(undefined)} />
    </div>
  );
}
