// Reads a server-sent event stream and survives lost connections: after a reconnect it sends the number of the last event
// it has, and the server continues after it. A browser allows six connections per server for all tabs together, so a
// hidden tab gives up its connection.

import { createParser } from "eventsource-parser";
import { Failure, failure, reach, refused, withApiKey } from "./client";

/** What every event of a stream has. `TurnEvent` and `LoadEvent` are unions over `type`. */
export type StreamEvent = { readonly type: string; readonly seq: number };

/** Delays between attempts to reconnect, in milliseconds. */
const BACKOFF = [300, 600, 1200, 2500, 5000];

export type StreamOptions<E extends StreamEvent> = {
  readonly address: string;
  readonly onEvent: (event: E) => void;
  /** Called with whether the stream is connected. */
  readonly onConnection?: (connected: boolean) => void;
  readonly signal: AbortSignal;
};

/** Follows a stream until its event `ended`. Fails only if reconnecting would not help. */
export async function follow<E extends StreamEvent>(options: StreamOptions<E>): Promise<void> {
  const { address, onEvent, onConnection, signal } = options;
  let last = 0;
  let ended = false;
  let attempts = 0;
  while (!ended && !signal.aborted) {
    await untilVisible(signal);
    const hidden = hiddenSignal();
    try {
      const headers = withApiKey({ accept: "text/event-stream", "last-event-id": String(last) });
      const response = await reach(address, { headers, signal: AbortSignal.any([signal, hidden.signal]) });
      if (!response.ok) throw await failure(response);
      onConnection?.(true);
      await read<E>(response, (event) => {
        if (event.seq <= last) return;
        attempts = 0;
        last = event.seq;
        onEvent(event);
        ended ||= event.type === "ended";
      });
    } catch (error) {
      if (signal.aborted) return;
      // A server that is down or not ready may come back; a refusal is final.
      if (refused(error)) throw error;
    } finally {
      hidden.dispose();
    }
    if (ended || signal.aborted) return;
    if (hidden.signal.aborted) continue;
    onConnection?.(false);
    await pause(BACKOFF[Math.min(attempts++, BACKOFF.length - 1)] ?? 5000, signal);
  }
}

/** The server sends a heartbeat every five seconds; after this long without data the connection is considered dead. */
const SILENCE = 20_000;

async function read<E extends StreamEvent>(response: Response, onEvent: (event: E) => void): Promise<void> {
  if (!response.body) return;
  let error: Failure | undefined;
  const parser = createParser({
    onEvent({ id, event: type, data }) {
      if (!type) return;
      // Only the report that the stream itself failed has no id. The events are gone, so this is final.
      if (type === "error" && !id) error = streamFailure(data);
      else onEvent(JSON.parse(data) as E);
    },
  });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await nextChunk(reader);
    if (done) return;
    parser.feed(value);
    if (error) throw error;
  }
}

function streamFailure(data: string): Failure {
  const { message } = JSON.parse(data) as { message?: string };
  return new Failure(410, message ?? data);
}

/** The next chunk; fails if none arrives in time. */
async function nextChunk(reader: ReadableStreamDefaultReader<string>) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new TypeError("the stream timed out"));
      void reader.cancel();
    }, SILENCE);
  });
  try {
    return await Promise.race([reader.read(), timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/** How long a tab may be hidden before it gives up its connection. */
const HIDDEN_FOR = 5_000;

/** Waits until the tab is visible. */
function untilVisible(signal: AbortSignal): Promise<void> {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => {
    const check = () => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener("visibilitychange", check);
      signal.removeEventListener("abort", check);
      resolve();
    };
    document.addEventListener("visibilitychange", check);
    signal.addEventListener("abort", check);
  });
}

/** A signal that aborts once the tab has been hidden for a while. */
function hiddenSignal() {
  const controller = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const check = () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(() => controller.abort(), HIDDEN_FOR);
  };
  document.addEventListener("visibilitychange", check);
  const dispose = () => {
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", check);
  };
  return { signal: controller.signal, dispose };
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
