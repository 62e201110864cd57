// Context of a conversation.

import { createContext, useContext } from "react";
import type { Assistant, Thread } from "../api/schema";

export type ConversationState = {
  readonly thread?: Thread;
  readonly family: readonly Thread[];
  /** Opens something in the side panel, or closes it. */
  readonly show: (what: string | undefined) => void;
  /** What is open in the side panel. */
  readonly open?: string;
  /** Which assistant answered, by its run. */
  readonly assistantOf: (run: string | undefined) => Assistant | undefined;
  /** Sends a question; undefined while the turn waits for a reply. */
  readonly say?: (text: string) => Promise<boolean>;
};

export const ConversationContext = createContext<ConversationState>({
  family: [],
  show: () => {},
  assistantOf: () => undefined,
});

export function useConversation(): ConversationState {
  return useContext(ConversationContext);
}
