// The text of an answer as far as it has been streamed. Same fold as `DraftAnswer` in crates/core/src/event.rs; the files in
// tests/streams check both.

import type { TurnEvent } from "../api/schema";

export type DraftAnswer = {
  readonly text: string;
  /** The step and attempt that write it; none before the first token. */
  readonly writer?: { readonly step: number; readonly attempt: number };
  /** Whether the draft was withdrawn, so that the next token starts another one. */
  readonly closed: boolean;
};

export const NO_DRAFT: DraftAnswer = { text: "", closed: false };

export function applyToDraft(draft: DraftAnswer, event: TurnEvent): DraftAnswer {
  switch (event.type) {
    case "token": {
      const { step, attempt, text } = event;
      const continues = !draft.closed && draft.writer?.step === step && draft.writer?.attempt === attempt;
      return continues ? { ...draft, text: draft.text + text } : { text, writer: { step, attempt }, closed: false };
    }
    case "draft_withdrawn":
    case "step_retrying":
    case "restarted":
      return draft.writer && !draft.closed ? { ...draft, text: "", closed: true } : draft;
    default:
      return draft;
  }
}
