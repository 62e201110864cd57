// Documents that are being loaded: sent, read page by page, put into the index. Each is followed once.

import type { QueryClient } from "@tanstack/react-query";
import { useCallback, useSyncExternalStore } from "react";
import { api, body, Failure, identified, Unreached } from "../api/client";
import { follow, type Told } from "../api/events";
import { keyIsWanted } from "../api/key";
import { names } from "../api/queries";
import { randomName } from "../api/random";

export type State =
  | "sending"
  | "waiting"
  | "reading"
  | "indexing"
  | "done"
  | "unchanged"
  | "duplicate"
  | "empty"
  | "failed"
  | "stopped";

export type Load = {
  readonly id: string;
  readonly source: string;
  readonly state: State;
  /** How much of this state is done, from 0 to 1, if that is known. */
  readonly part?: number;
  readonly page?: number;
  readonly pages?: number;
  readonly chunks?: number;
  readonly problem?: unknown;
  /** Sends it again, where sending failed. */
  readonly again?: () => void;
  /** The document, once the server has taken it. */
  readonly document?: string;
};

/** What is said of documents that are sent. */
export type About = {
  readonly corpus?: string;
  readonly type?: string;
  readonly key?: string;
  readonly language?: string;
  /** Who may see it. */
  readonly labels?: string[];
};

/** A browser has six connections to a server, and the page needs some for itself: two files are sent at once, two loads are followed. */
const sending = turns(2);
const following = turns(2);

/** Does things in their order, so many at once. */
function turns(most: number) {
  const waiting: (() => Promise<void>)[] = [];
  let busy = 0;
  const next = () => {
    const begin = busy < most ? waiting.shift() : undefined;
    if (!begin) return;
    busy += 1;
    void begin().finally(() => {
      busy -= 1;
      next();
    });
  };
  return {
    add: (doing: () => Promise<void>) => {
      waiting.push(doing);
      next();
    },
    /** Whether something waits for its turn. */
    crowded: () => waiting.length > 0,
  };
}

let loads: readonly Load[] = [];
const listeners = new Set<() => void>();
/** Which line a document that is followed has. */
const lines = new Map<string, string>();
const requests = new Map<string, XMLHttpRequest>();
/** Documents whose load has just ended: the server tells it shortly before it has tidied up. */
const settling = new Set<string>();
const SETTLED_AFTER = 1_500;

function set(next: readonly Load[]) {
  loads = next;
  for (const listener of listeners) listener();
}

function change(id: string, how: Partial<Load>) {
  set(loads.map((load) => (load.id === id ? { ...load, ...how } : load)));
}

export function useLoads(): readonly Load[] {
  const subscribe = useCallback((listener: () => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, []);
  return useSyncExternalStore(subscribe, () => loads);
}

export function isOver(load: Load): boolean {
  return !["sending", "waiting", "reading", "indexing"].includes(load.state);
}

/** Takes those that are over off the list. */
export function clear() {
  set(loads.filter((load) => !isOver(load)));
}

// What is not sent yet is gone when the page goes: whoever leaves is asked.
window.addEventListener("beforeunload", (event) => {
  if (loads.some((load) => load.state === "sending")) event.preventDefault();
});

/** Sends files, a few at a time. */
export function send(queries: QueryClient, files: readonly File[], about: About) {
  for (const file of files) {
    const id = randomName();
    const begin = () => {
      change(id, { state: "sending", part: 0, problem: undefined, again: undefined });
      sending.add(() => sendOne(queries, id, file, about, begin));
    };
    set([...loads, { id, source: file.name, state: "sending", part: 0 }]);
    begin();
  }
}

async function sendOne(queries: QueryClient, id: string, file: File, about: About, again: () => void) {
  if (!loads.some((load) => load.id === id && load.state === "sending")) return;
  try {
    const document = await upload(id, file, about);
    await begun(queries, id, document, file.name);
  } catch (error) {
    fail(id, error);
    change(id, { again });
  }
}

/** Sends one file. Only this kind of request tells how much of it has gone. */
function upload(id: string, file: File, about: About): Promise<string> {
  return new Promise((resolve, reject) => {
    const form = new FormData();
    for (const [name, value] of Object.entries(about)) {
      const text = Array.isArray(value) ? value.join(",") : value;
      if (text) form.append(name, text);
    }
    form.append("file", file, file.name);
    const request = new XMLHttpRequest();
    requests.set(id, request);
    request.open("POST", "/documents");
    for (const [name, value] of Object.entries(identified())) request.setRequestHeader(name, value);
    request.upload.onprogress = ({ loaded, total }) => change(id, { part: loaded / total });
    request.onerror = () => reject(new Unreached("the connection was lost"));
    request.onabort = () => reject(new DOMException("stopped", "AbortError"));
    request.onloadend = () => requests.delete(id);
    request.onload = () => {
      if (request.status === 401) keyIsWanted();
      try {
        const told = JSON.parse(request.responseText || "{}");
        if (request.status < 300) resolve(told.documents[0].document_id);
        else reject(new Failure(request.status, told.detail ?? `${request.status}`));
      } catch {
        reject(new Failure(request.status, `${request.status} ${request.responseText.slice(0, 200)}`));
      }
    };
    request.send(form);
  });
}

/** Has the server fetch a document. */
export async function fetchFrom(queries: QueryClient, url: string, about: About) {
  const id = randomName();
  set([...loads, { id, source: url, state: "waiting" }]);
  try {
    const taken = body(await api.POST("/documents/fetch", { body: { url, ...about } }));
    const document = taken.documents[0]?.document_id;
    if (!document) return;
    await begun(queries, id, document, url);
  } catch (error) {
    fail(id, error);
  }
}

/** The server has it: it is followed, or stopped if that was wanted meanwhile. */
async function begun(queries: QueryClient, id: string, document: string, source: string) {
  change(id, { document });
  if (loads.some((load) => load.id === id && load.state === "stopped")) return stop(document);
  change(id, { state: "waiting", part: undefined });
  watch(queries, document, source, id);
}

function fail(id: string, error: unknown) {
  const stopped = error instanceof DOMException && error.name === "AbortError";
  change(id, stopped ? { state: "stopped" } : { state: "failed", problem: error });
}

/** Follows a document that is being loaded, also one that somebody else sent. */
export function watch(queries: QueryClient, document: string, source: string, id = document) {
  // What has just ended may be listed for a moment longer.
  if (id === document && settling.has(document)) return;
  const before = lines.get(document);
  if (before !== undefined) {
    // It is followed already: what is heard from now on belongs to the newer line.
    if (before === id || id === document) return;
    lines.set(document, id);
    set(loads.filter((load) => load.id !== before));
    return;
  }
  lines.set(document, id);
  if (!loads.some((load) => load.id === id)) set([...loads, { id, source, state: "waiting", document }]);
  void queries.invalidateQueries({ queryKey: names.documents });
  following.add(() => followOne(queries, document));
}

/** One that says nothing for so long makes room for others: perhaps it only waits. */
const QUIET = 3_000;

async function followOne(queries: QueryClient, document: string): Promise<void> {
  const line = () => lines.get(document) ?? document;
  const left = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const listen = () => {
    clearTimeout(timer);
    timer = setTimeout(() => (following.crowded() ? left.abort() : listen()), QUIET);
  };
  listen();
  try {
    await follow({
      address: `/documents/${document}/events`,
      hear: (told) => {
        listen();
        change(line(), heard(told));
      },
      ends: (told) => told.name === "end",
      signal: left.signal,
    });
  } catch (error) {
    fail(line(), error);
  } finally {
    clearTimeout(timer);
  }
  if (left.signal.aborted) return following.add(() => followOne(queries, document));
  lines.delete(document);
  settling.add(document);
  setTimeout(() => {
    settling.delete(document);
    void queries.invalidateQueries({ queryKey: names.documents });
  }, SETTLED_AFTER);
  void queries.invalidateQueries({ queryKey: names.documents });
  void queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[1] === document });
  void queries.invalidateQueries({ queryKey: names.status });
}

function heard({ name, data }: Told): Partial<Load> {
  const { value, status, error } = data as {
    value?: { page?: number; pages?: number; chunks?: number; of?: number };
    status?: string;
    error?: string | null;
  };
  if (name === "page" && value) {
    const { page, pages } = value;
    return { state: "reading", page, pages, part: page && pages ? page / pages : undefined };
  }
  if (name === "chunks" && value) {
    const { chunks, of } = value;
    return { state: "indexing", chunks, part: chunks !== undefined && of ? chunks / of : undefined };
  }
  if (name === "end") {
    if (status === "done") return came(data);
    return status === "stopped" ? { state: "stopped" } : { state: "failed", problem: error ?? undefined };
  }
  return {};
}

/** What a load came to: it may have ended well, and the document still not be there to be searched. */
function came(data: unknown): Partial<Load> {
  const { message } = data as { message?: { text: string } | null };
  const { outcome } = JSON.parse(message?.text ?? "{}") as { outcome?: Outcome };
  if (typeof outcome === "object" && outcome.failed) return { state: "failed", problem: outcome.failed.why };
  if (typeof outcome === "object" && outcome.duplicate) return { state: "duplicate", part: 1 };
  if (outcome === "empty" || outcome === "unchanged" || outcome === "stopped") return { state: outcome, part: 1 };
  return { state: "done", part: 1 };
}

type Outcome =
  | "loaded"
  | "unchanged"
  | "empty"
  | "stopped"
  | { readonly failed?: { readonly why: string }; readonly duplicate?: { readonly of: string } };

/** Stops sending or loading. What was there before stays. */
export async function cancel(load: Load) {
  const request = requests.get(load.id);
  // What has gone whole is loaded, unless it is stopped there.
  if (request && load.part !== 1) request.abort();
  else if (load.document) await stop(load.document);
  else change(load.id, { state: "stopped" });
}

async function stop(document: string) {
  await api.POST("/documents/{document}/cancel", { params: { path: { document } } });
}
