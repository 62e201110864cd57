// Unsent text of the composer, stored for each conversation as long as the tab is open.

import type { AssistantRuntime } from "@assistant-ui/react";
import { useEffect } from "react";

const DRAFTS = "ibid.draft.";
const storageKey = (thread: string | undefined) => `${DRAFTS}${thread ?? "new"}`;

function store(thread: string | undefined, text: string) {
  if (text) sessionStorage.setItem(storageKey(thread), text);
  else sessionStorage.removeItem(storageKey(thread));
}

/** Moves the draft of one conversation to another. */
export function moveDraft(from: string | undefined, to: string) {
  const text = sessionStorage.getItem(storageKey(from));
  if (!text) return;
  store(to, text);
  store(from, "");
}

/** Puts text that could not be sent back into the composer, after what was typed in the meantime. */
export function restoreDraft(runtime: AssistantRuntime, thread: string | undefined, text: string) {
  const stored = sessionStorage.getItem(storageKey(thread));
  const whole = stored ? `${stored}\n\n${text}` : text;
  // Also stored, in case the user has left the conversation.
  store(thread, whole);
  runtime.thread.composer.setText(whole);
}

/** Removes all drafts when the key is removed, since the next user may be another person. */
export function forgetDrafts() {
  for (const name of Object.keys(sessionStorage).filter((name) => name.startsWith(DRAFTS))) {
    sessionStorage.removeItem(name);
  }
}

/** Stores and restores the draft of a conversation. */
export function useDraft(runtime: AssistantRuntime, thread: string | undefined) {
  const { composer } = runtime.thread;
  useEffect(() => {
    const stored = sessionStorage.getItem(storageKey(thread));
    if (stored && !composer.getState().text) composer.setText(stored);
    return composer.subscribe(() => store(thread, composer.getState().text));
  }, [composer, thread]);
}
