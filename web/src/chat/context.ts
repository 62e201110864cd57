// What every part of a conversation has at hand.

import { createContext, useContext } from "react";
import type { Thread } from "../api/schema";

export type ConversationState = {
  readonly thread?: Thread;
  readonly family: readonly Thread[];
  /** Opens something beside the conversation, or closes it. */
  readonly show: (what: string | undefined) => void;
  /** What is open. */
  readonly open?: string;
  /** Asks something, unless it is the assistant who asks. */
  readonly say?: (text: string) => Promise<boolean>;
};

export const ConversationContext = createContext<ConversationState>({
  family: [],
  show: () => {},
});

export function useConversation(): ConversationState {
  return useContext(ConversationContext);
}
