// Follows server-sent events over lost connections: whoever comes back says which event was the last, and gets the rest.
// A browser has six connections for all its tabs, so a tab that nobody looks at leaves its own to the others.

import { createParser } from "eventsource-parser";
import { Failure, failure, identified, reach, refused } from "./client";

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
    await inSight(signal);
    const unseen = outOfSight();
    try {
      const headers = identified({ accept: "text/event-stream", "last-event-id": String(last) });
      const response = await reach(address, { headers, signal: AbortSignal.any([signal, unseen.signal]) });
      if (!response.ok) throw await failure(response);
      connected?.(true);
      await read(response, (told) => {
        if (told.id <= last) return;
        tries = 0;
        last = told.id;
        hear(told);
        ended ||= ends(told);
      });
    } catch (error) {
      if (signal.aborted) return;
      // A server that is not there, or not ready, may come back; what it refuses it refuses again.
      if (refused(error)) throw error;
    } finally {
      unseen.done();
    }
    if (ended || signal.aborted) return;
    if (unseen.signal.aborted) continue;
    connected?.(false);
    await pause(PATIENCE[Math.min(tries++, PATIENCE.length - 1)] ?? 5000, signal);
  }
}

/** The server beats every five seconds; after so long without a sign the connection is dead. */
const SILENCE = 20_000;

async function read(response: Response, hear: (told: Told) => void): Promise<void> {
  if (!response.body) return;
  let refused: Failure | undefined;
  const parser = createParser({
    onEvent({ id, event, data }) {
      if (!event) return;
      const told = JSON.parse(data);
      // What cannot be told has no number: it was dropped, and will not come back.
      if (event === "error" && !id) refused = new Failure(410, String(told.message ?? data));
      else hear({ id: Number(id ?? 0), name: event, data: told });
    },
  });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await heard(reader);
    if (done) return;
    parser.feed(value);
    if (refused) throw refused;
  }
}

/** The next piece, unless nothing comes for too long. */
async function heard(reader: ReadableStreamDefaultReader<string>) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new TypeError("nothing came"));
      void reader.cancel();
    }, SILENCE);
  });
  try {
    return await Promise.race([reader.read(), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** So long a tab may be out of sight before it leaves its connection. */
const OUT_OF_SIGHT = 5_000;

/** Waits until the tab is looked at. */
function inSight(signal: AbortSignal): Promise<void> {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => {
    const look = () => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener("visibilitychange", look);
      signal.removeEventListener("abort", look);
      resolve();
    };
    document.addEventListener("visibilitychange", look);
    signal.addEventListener("abort", look);
  });
}

/** A signal that comes when the tab has been out of sight for a while. */
function outOfSight() {
  const left = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const look = () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(() => left.abort(), OUT_OF_SIGHT);
  };
  document.addEventListener("visibilitychange", look);
  const done = () => {
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", look);
  };
  return { signal: left.signal, done };
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
