// Documents that are being loaded: sent, read page by page, put into the index. Each is followed once.

import type { QueryClient } from "@tanstack/react-query";
import { useCallback, useSyncExternalStore } from "react";
import { api, body, Failure, identified } from "../api/client";
import { follow, type Told } from "../api/events";
import { names } from "../api/queries";

export type Load = {
  readonly id: string;
  readonly source: string;
  readonly state: "sending" | "waiting" | "reading" | "indexing" | "done" | "failed" | "stopped";
  /** How much of this state is done, from 0 to 1, if that is known. */
  readonly part?: number;
  readonly page?: number;
  readonly pages?: number;
  readonly chunks?: number;
  readonly problem?: string;
  /** The document, once the server has taken it. */
  readonly document?: string;
};

/** What is said of documents that are sent. */
export type About = {
  readonly corpus?: string;
  readonly type?: string;
  readonly key?: string;
  readonly title?: string;
};

/** So many files are sent at once. */
const AT_ONCE = 3;

let loads: readonly Load[] = [];
const listeners = new Set<() => void>();
const followed = new Map<string, AbortController>();
const sending = new Map<string, XMLHttpRequest>();
const waiting: (() => Promise<void>)[] = [];
let busy = 0;

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
  return load.state === "done" || load.state === "failed" || load.state === "stopped";
}

/** Takes those that are over off the list. */
export function clear() {
  set(loads.filter((load) => !isOver(load)));
}

/** Sends files, a few at a time. */
export function send(queries: QueryClient, files: readonly File[], about: About) {
  for (const file of files) {
    const id = crypto.randomUUID();
    set([...loads, { id, source: file.name, state: "sending", part: 0 }]);
    waiting.push(() => sendOne(queries, id, file, about));
  }
  next();
}

function next() {
  while (busy < AT_ONCE) {
    const begin = waiting.shift();
    if (!begin) return;
    busy += 1;
    void begin().finally(() => {
      busy -= 1;
      next();
    });
  }
}

async function sendOne(queries: QueryClient, id: string, file: File, about: About) {
  if (!loads.some((load) => load.id === id && load.state === "sending")) return;
  try {
    const document = await upload(id, file, about);
    change(id, { state: "waiting", part: undefined, document });
    watch(queries, document, file.name, id);
  } catch (error) {
    fail(id, error);
  }
}

/** Sends one file. Only this kind of request tells how much of it has gone. */
function upload(id: string, file: File, about: About): Promise<string> {
  return new Promise((resolve, reject) => {
    const form = new FormData();
    for (const [name, value] of Object.entries(about)) if (value) form.append(name, value);
    form.append("file", file, file.name);
    const request = new XMLHttpRequest();
    sending.set(id, request);
    request.open("POST", "/documents");
    for (const [name, value] of Object.entries(identified())) request.setRequestHeader(name, value);
    request.upload.onprogress = ({ loaded, total }) => change(id, { part: loaded / total });
    request.onerror = () => reject(new TypeError("the connection was lost"));
    request.onabort = () => reject(new DOMException("stopped", "AbortError"));
    request.onloadend = () => sending.delete(id);
    request.onload = () => {
      const told = JSON.parse(request.responseText || "{}");
      if (request.status < 300) resolve(told.documents[0].document_id);
      else reject(new Failure(request.status, told.detail ?? `${request.status}`));
    };
    request.send(form);
  });
}

/** Has the server fetch a document. */
export async function fetchFrom(queries: QueryClient, url: string, about: About) {
  const id = crypto.randomUUID();
  set([...loads, { id, source: url, state: "waiting" }]);
  try {
    const taken = body(await api.POST("/documents/fetch", { body: { url, ...about } }));
    const document = taken.documents[0]?.document_id;
    if (!document) return;
    change(id, { document });
    watch(queries, document, url, id);
  } catch (error) {
    fail(id, error);
  }
}

function fail(id: string, error: unknown) {
  const stopped = error instanceof DOMException && error.name === "AbortError";
  change(id, stopped ? { state: "stopped" } : { state: "failed", problem: (error as Error).message });
}

/** Follows a document that is being loaded, also one that somebody else sent. */
export function watch(queries: QueryClient, document: string, source: string, id = document) {
  if (followed.has(document)) return;
  const stop = new AbortController();
  followed.set(document, stop);
  if (!loads.some((load) => load.id === id)) set([...loads, { id, source, state: "waiting", document }]);
  const ended = () => {
    followed.delete(document);
    void queries.invalidateQueries({ queryKey: names.documents });
    void queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[1] === document });
    void queries.invalidateQueries({ queryKey: names.status });
  };
  void queries.invalidateQueries({ queryKey: names.documents });
  follow({
    address: `/documents/${document}/events`,
    hear: (told) => change(id, heard(told)),
    ends: (told) => told.name === "end",
    signal: stop.signal,
  })
    .catch((error: unknown) => fail(id, error))
    .finally(ended);
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
    if (status === "done") return { state: "done", part: 1 };
    return status === "stopped" ? { state: "stopped" } : { state: "failed", problem: error ?? undefined };
  }
  return {};
}

/** Stops sending or loading. What was there before stays. */
export async function cancel(load: Load) {
  const request = sending.get(load.id);
  if (request) request.abort();
  else if (load.document) {
    await api.POST("/documents/{document}/cancel", { params: { path: { document: load.document } } });
  } else change(load.id, { state: "stopped" });
}
