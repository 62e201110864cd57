// What is written and not yet sent, for as long as the tab is open: it is there again when one comes back.

import type { AssistantRuntime } from "@assistant-ui/react";
import { useEffect } from "react";

const DRAFTS = "ibid.draft.";
const place = (thread: string | undefined) => `${DRAFTS}${thread ?? "new"}`;

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

/** What could not be sent is there again, behind what was written meanwhile. */
export function giveBack(runtime: AssistantRuntime, thread: string | undefined, text: string) {
  const kept = sessionStorage.getItem(place(thread));
  const whole = kept ? `${kept}\n\n${text}` : text;
  // Whoever has gone elsewhere finds it when coming back.
  keep(thread, whole);
  runtime.thread.composer.setText(whole);
}

/** What was written under a key that is forgotten is nothing for the next person. */
export function forgetDrafts() {
  for (const name of Object.keys(sessionStorage).filter((name) => name.startsWith(DRAFTS))) {
    sessionStorage.removeItem(name);
  }
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
