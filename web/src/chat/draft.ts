// What is written and not yet sent, for as long as the tab is open: it is there again when one comes back.

import type { AssistantRuntime } from "@assistant-ui/react";
import { useEffect } from "react";

const place = (thread: string | undefined) => `ibid.draft.${thread ?? "new"}`;

function keep(thread: string | undefined, text: string) {
  if (text) sessionStorage.setItem(place(thread), text);
  else sessionStorage.removeItem(place(thread));
}

/** What was written in one conversation goes on in another. */
export function moveDraft(from: string | undefined, to: string) {
  const text = sessionStorage.getItem(place(from));
  if (!text) return;
  keep(to, text);
  keep(from, "");
}

/** Keeps what is being written in a conversation. */
export function useDraft(runtime: AssistantRuntime, thread: string | undefined) {
  const { composer } = runtime.thread;
  useEffect(() => {
    const kept = sessionStorage.getItem(place(thread));
    if (kept && !composer.getState().text) composer.setText(kept);
    return composer.subscribe(() => keep(thread, composer.getState().text));
  }, [composer, thread]);
}
