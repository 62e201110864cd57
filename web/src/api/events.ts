// Follows server-sent events over lost connections: whoever comes back says which event was the last, and gets the rest.

import { createParser } from "eventsource-parser";
import { Failure, failure, identified } from "./client";

/** Something that the server tells, with its number. */
export type Told = { readonly id: number; readonly name: string; readonly data: unknown };

const PATIENCE = [300, 600, 1200, 2500, 5000];

export type Following = {
  readonly address: string;
  readonly hear: (told: Told) => void;
  /** Whether the connection stands. */
  readonly connected?: (is: boolean) => void;
  /** Whether an event is the last one. */
  readonly ends: (told: Told) => boolean;
  readonly signal: AbortSignal;
};

/** Follows until the last event. Fails only where coming back would not help. */
export async function follow({ address, hear, connected, ends, signal }: Following): Promise<void> {
  let last = 0;
  let ended = false;
  let tries = 0;
  while (!ended && !signal.aborted) {
    try {
      const headers = identified({ accept: "text/event-stream", "last-event-id": String(last) });
      const response = await fetch(address, { headers, signal });
      if (!response.ok) throw await failure(response);
      connected?.(true);
      await read(response, (told) => {
        tries = 0;
        if (told.id <= last) return;
        last = told.id;
        hear(told);
        ended ||= ends(told);
      });
    } catch (error) {
      if (signal.aborted) return;
      // A server that is not there, or not ready, may come back; what it refuses it refuses again.
      if (error instanceof Failure && error.status < 500 && error.status !== 429) throw error;
    }
    if (ended || signal.aborted) return;
    connected?.(false);
    await pause(PATIENCE[Math.min(tries++, PATIENCE.length - 1)] ?? 5000, signal);
  }
}

async function read(response: Response, hear: (told: Told) => void): Promise<void> {
  if (!response.body) return;
  const parser = createParser({
    onEvent({ id, event, data }) {
      if (event) hear({ id: Number(id ?? 0), name: event, data: JSON.parse(data) });
    },
  });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    parser.feed(value);
  }
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
