// What was said in a conversation: its newest messages come with it, those before them when they are asked for.

import { useState } from "react";
import { api, body } from "../api/client";
import type { Message, Thread } from "../api/schema";

const NOTHING: readonly Message[] = [];

export type Said = {
  readonly messages: readonly Message[];
  /** How many more there are before these. */
  readonly before: number;
  /** Gets some of those. */
  readonly more: () => Promise<void>;
  /** Every message, also those that nobody has asked for yet. */
  readonly all: () => Promise<readonly Message[]>;
};

export function useSaid(thread: Thread | undefined): Said {
  const newest = thread?.values?.messages ?? NOTHING;
  const [seen, setSeen] = useState(newest);
  const [messages, setMessages] = useState(newest);
  if (seen !== newest) {
    setSeen(newest);
    setMessages(joined(messages, newest));
  }
  const before = messages[0]?.position ?? 0;
  const earlier = async (position: number): Promise<readonly Message[]> => {
    const path = { thread: thread?.thread_id ?? "" };
    const query = { before: String(position) };
    return body(await api.GET("/threads/{thread}/messages", { params: { path, query } }));
  };
  return {
    messages,
    before,
    more: async () => {
      const found = await earlier(before);
      setMessages((now) => (now[0]?.position === before ? [...found, ...now] : now));
    },
    all: async () => {
      let all = messages;
      for (let first = before; first > 0; first = all[0]?.position ?? 0) {
        const found = await earlier(first);
        if (found.length === 0) break;
        all = [...found, ...all];
      }
      return all;
    },
  };
}

/** What is new takes the place of what was there from its first message on; what was shown before it stays. */
function joined(known: readonly Message[], newest: readonly Message[]): readonly Message[] {
  const first = newest[0]?.position ?? 0;
  const kept = known.filter((message) => message.position < first);
  return kept.at(-1)?.position === first - 1 ? [...kept, ...newest] : newest;
}
