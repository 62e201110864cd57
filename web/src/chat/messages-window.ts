// The messages of a conversation: the thread comes with the newest ones, and older ones are fetched on demand.

import { useState } from "react";
import { api, body } from "../api/client";
import type { Message, Thread } from "../api/schema";

const NONE: readonly Message[] = [];

export type MessagesWindow = {
  readonly messages: readonly Message[];
  /** How many older messages there are. */
  readonly older: number;
  /** Fetches some of them. */
  readonly fetchOlder: () => Promise<void>;
  /** Every message of the conversation, fetched if needed. */
  readonly fetchAll: () => Promise<readonly Message[]>;
};

export function useMessages(thread: Thread | undefined): MessagesWindow {
  const newest = thread?.values?.messages ?? NONE;
  const [seen, setSeen] = useState(newest);
  const [messages, setMessages] = useState(newest);
  if (seen !== newest) {
    setSeen(newest);
    setMessages(joined(messages, newest));
  }
  const older = messages[0]?.position ?? 0;
  const fetchBefore = async (position: number): Promise<readonly Message[]> => {
    const path = { thread: thread?.thread_id ?? "" };
    const query = { before: String(position) };
    return body(await api.GET("/threads/{thread}/messages", { params: { path, query } }));
  };
  return {
    messages,
    older,
    fetchOlder: async () => {
      const found = await fetchBefore(older);
      setMessages((now) => (now[0]?.position === older ? [...found, ...now] : now));
    },
    fetchAll: async () => {
      let all = messages;
      for (let first = older; first > 0; first = all[0]?.position ?? 0) {
        const found = await fetchBefore(first);
        if (found.length === 0) break;
        all = [...found, ...all];
      }
      return all;
    },
  };
}

/** The newest messages, after older ones that were fetched before, as long as there is no gap between them. */
function joined(known: readonly Message[], newest: readonly Message[]): readonly Message[] {
  const first = newest[0]?.position ?? 0;
  const older = known.filter((message) => message.position < first);
  return older.at(-1)?.position === first - 1 ? [...older, ...newest] : newest;
}
