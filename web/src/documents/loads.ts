// Documents that are being loaded: uploaded, read page by page, and indexed. Each load has one stream.

import type { QueryClient } from "@tanstack/react-query";
import { useCallback, useSyncExternalStore } from "react";
import { api, body, Failure, Unreached, withApiKey } from "../api/client";
import { follow } from "../api/events";
import { requestKey } from "../api/key";
import { names } from "../api/queries";
import { randomId } from "../api/random";
import type { LoadEvent } from "../api/schema";

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
  /** Progress of this state, from 0 to 1, if known. */
  readonly part?: number;
  readonly page?: number;
  readonly pages?: number;
  readonly chunks?: number;
  readonly problem?: unknown;
  /** Uploads it again, if the upload failed. */
  readonly retry?: () => void;
  /** The ID of the document, once the server has accepted it. */
  readonly document?: string;
};

/** Metadata of documents to load. */
export type DocumentMetadata = {
  readonly corpus?: string;
  readonly type?: string;
  readonly key?: string;
  readonly language?: string;
  /** Labels that restrict who may see it. */
  readonly labels?: string[];
};

/** A browser allows six connections to a server, and the page needs some: two uploads and two streams at a time. */
const uploads = queue(2);
const streams = queue(2);

/** Runs tasks in order, a limited number at a time. */
function queue(limit: number) {
  const waiting: (() => Promise<void>)[] = [];
  let running = 0;
  const next = () => {
    const task = running < limit ? waiting.shift() : undefined;
    if (!task) return;
    running += 1;
    void task().finally(() => {
      running -= 1;
      next();
    });
  };
  return {
    add: (task: () => Promise<void>) => {
      waiting.push(task);
      next();
    },
    /** Whether tasks are waiting. */
    hasWaiting: () => waiting.length > 0,
  };
}

let loads: readonly Load[] = [];
const listeners = new Set<() => void>();
/** The load that shows the events of a document. */
const loadIds = new Map<string, string>();
const requests = new Map<string, XMLHttpRequest>();
/** Documents whose load has just ended: the server sends the event shortly before it has cleaned up. */
const settling = new Set<string>();
const SETTLED_AFTER = 1_500;

function set(next: readonly Load[]) {
  loads = next;
  for (const listener of listeners) listener();
}

function update(id: string, change: Partial<Load>) {
  set(loads.map((load) => (load.id === id ? { ...load, ...change } : load)));
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

/** Removes loads that are over from the list. */
export function clear() {
  set(loads.filter((load) => !isOver(load)));
}

// Uploads are lost when the page is closed, so the browser asks for confirmation.
window.addEventListener("beforeunload", (event) => {
  if (loads.some((load) => load.state === "sending")) event.preventDefault();
});

/** Uploads files, a few at a time. */
export function send(queries: QueryClient, files: readonly File[], metadata: DocumentMetadata) {
  for (const file of files) {
    const id = randomId();
    const start = () => {
      update(id, { state: "sending", part: 0, problem: undefined, retry: undefined });
      uploads.add(() => sendOne(queries, id, file, metadata, start));
    };
    set([...loads, { id, source: file.name, state: "sending", part: 0 }]);
    start();
  }
}

async function sendOne(queries: QueryClient, id: string, file: File, metadata: DocumentMetadata, retry: () => void) {
  if (!loads.some((load) => load.id === id && load.state === "sending")) return;
  try {
    const document = await upload(id, file, metadata);
    await accepted(queries, id, document, file.name);
  } catch (error) {
    fail(id, error);
    update(id, { retry });
  }
}

/** Uploads a file. `XMLHttpRequest` is used because `fetch` does not report upload progress. */
function upload(id: string, file: File, metadata: DocumentMetadata): Promise<string> {
  return new Promise((resolve, reject) => {
    const form = new FormData();
    for (const [name, value] of Object.entries(metadata)) {
      const text = Array.isArray(value) ? value.join(",") : value;
      if (text) form.append(name, text);
    }
    form.append("file", file, file.name);
    const request = new XMLHttpRequest();
    requests.set(id, request);
    request.open("POST", "/documents");
    for (const [name, value] of Object.entries(withApiKey())) request.setRequestHeader(name, value);
    request.upload.onprogress = ({ loaded, total }) => update(id, { part: loaded / total });
    request.onerror = () => reject(new Unreached("the connection was lost"));
    request.onabort = () => reject(new DOMException("stopped", "AbortError"));
    request.onloadend = () => requests.delete(id);
    request.onload = () => {
      if (request.status === 401) requestKey();
      try {
        const response = JSON.parse(request.responseText || "{}");
        if (request.status < 300) resolve(response.documents[0].document_id);
        else reject(new Failure(request.status, response.detail ?? `${request.status}`));
      } catch {
        reject(new Failure(request.status, `${request.status} ${request.responseText.slice(0, 200)}`));
      }
    };
    request.send(form);
  });
}

/** Has the server download a document. */
export async function fetchFrom(queries: QueryClient, url: string, metadata: DocumentMetadata) {
  const id = randomId();
  set([...loads, { id, source: url, state: "waiting" }]);
  try {
    const taken = body(await api.POST("/documents/fetch", { body: { url, ...metadata } }));
    const document = taken.documents[0]?.document_id;
    if (!document) return;
    await accepted(queries, id, document, url);
  } catch (error) {
    fail(id, error);
  }
}

/** The server has accepted the document: follows the load, or stops it if it was cancelled in the meantime. */
async function accepted(queries: QueryClient, id: string, document: string, source: string) {
  update(id, { document });
  if (loads.some((load) => load.id === id && load.state === "stopped")) return stop(document);
  update(id, { state: "waiting", part: undefined });
  watch(queries, document, source, id);
}

function fail(id: string, error: unknown) {
  const stopped = error instanceof DOMException && error.name === "AbortError";
  update(id, stopped ? { state: "stopped" } : { state: "failed", problem: error });
}

/** Follows the load of a document, also one that another user started. */
export function watch(queries: QueryClient, document: string, source: string, id = document) {
  // A load that has just ended may still be listed for a moment.
  if (id === document && settling.has(document)) return;
  const before = loadIds.get(document);
  if (before !== undefined) {
    // It is followed already: the newer entry replaces the older one.
    if (before === id || id === document) return;
    loadIds.set(document, id);
    set(loads.filter((load) => load.id !== before));
    return;
  }
  loadIds.set(document, id);
  if (!loads.some((load) => load.id === id)) set([...loads, { id, source, state: "waiting", document }]);
  void queries.invalidateQueries({ queryKey: names.documents });
  streams.add(() => followOne(queries, document));
}

/** A stream without events for this long makes room for others: its load may only be queued. */
const QUIET = 3_000;

async function followOne(queries: QueryClient, document: string): Promise<void> {
  const loadId = () => loadIds.get(document) ?? document;
  const yielded = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const resetTimer = () => {
    clearTimeout(timer);
    timer = setTimeout(() => (streams.hasWaiting() ? yielded.abort() : resetTimer()), QUIET);
  };
  resetTimer();
  try {
    await follow<LoadEvent>({
      address: `/documents/${document}/events`,
      onEvent: (event) => {
        resetTimer();
        update(loadId(), progress(event));
      },
      signal: yielded.signal,
    });
  } catch (error) {
    fail(loadId(), error);
  } finally {
    clearTimeout(timer);
  }
  if (yielded.signal.aborted) return streams.add(() => followOne(queries, document));
  loadIds.delete(document);
  settling.add(document);
  setTimeout(() => {
    settling.delete(document);
    void queries.invalidateQueries({ queryKey: names.documents });
  }, SETTLED_AFTER);
  void queries.invalidateQueries({ queryKey: names.documents });
  void queries.invalidateQueries({ predicate: ({ queryKey }) => queryKey[1] === document });
  void queries.invalidateQueries({ queryKey: names.status });
}

function progress(event: LoadEvent): Partial<Load> {
  switch (event.type) {
    case "page_read": {
      const { page, pages } = event;
      return { state: "reading", page, pages, part: pages > 0 ? page / pages : undefined };
    }
    case "chunks_embedded": {
      const { chunks, of } = event;
      return { state: "indexing", chunks, part: of > 0 ? chunks / of : undefined };
    }
    case "ended":
      return ended(event);
    default:
      return {};
  }
}

/** The final state. A load can end without an error and the document still not be searchable. */
function ended({ status, error, summary }: Extract<LoadEvent, { type: "ended" }>): Partial<Load> {
  if (status === "stopped") return { state: "stopped" };
  if (status !== "done") return { state: "failed", problem: error ?? undefined };
  const outcome = summary?.outcome ?? "loaded";
  if (outcome === "loaded") return { state: "done", part: 1 };
  if (typeof outcome === "string") return { state: outcome, part: 1 };
  if ("failed" in outcome) return { state: "failed", problem: outcome.failed.why };
  return { state: "duplicate", part: 1 };
}

/** Cancels an upload or a load. An earlier version of the document stays. */
export async function cancel(load: Load) {
  const request = requests.get(load.id);
  // A complete upload is loaded, so it must be stopped on the server.
  if (request && load.part !== 1) request.abort();
  else if (load.document) await stop(load.document);
  else update(load.id, { state: "stopped" });
}

async function stop(document: string) {
  await api.POST("/documents/{document}/cancel", { params: { path: { document } } });
}
