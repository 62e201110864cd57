// Context of a conversation.

import { createContext, useContext } from "react";
import type { Thread } from "../api/schema";

export type ConversationState = {
  readonly thread?: Thread;
  readonly family: readonly Thread[];
  /** Opens something in the side panel, or closes it. */
  readonly show: (what: string | undefined) => void;
  /** What is open in the side panel. */
  readonly open?: string;
  /** Sends a question; undefined while the turn waits for a reply. */
  readonly say?: (text: string) => Promise<boolean>;
};

export const ConversationContext = createContext<ConversationState>({
  family: [],
  show: () => {},
});

export function useConversation(): ConversationState {
  return useContext(ConversationContext);
}
