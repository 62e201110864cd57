// Queries, and the keys under which their results are cached.

import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { api, body, refused } from "./client";

/** Some time, in seconds since 1970, and perhaps one assistant. */
export type Period = { readonly from: number; readonly to: number; readonly assistant?: string | undefined };

export const TURN_FILTERS = ["all", "failed", "unanswered", "warned", "good", "bad"] as const;
export type TurnFilter = (typeof TURN_FILTERS)[number];

/** Keys about one document have its ID in second position. */
export const names = {
  assistants: ["assistants"] as const,
  graph: (assistant: string) => ["graph", assistant] as const,
  threads: ["threads"] as const,
  thread: (thread: string) => ["thread", thread] as const,
  runs: (thread: string) => ["runs", thread] as const,
  family: (family: string) => ["family", family] as const,
  feedback: (run: string) => ["feedback", run] as const,
  state: (checkpoint: string) => ["state", checkpoint] as const,
  documents: ["documents"] as const,
  document: (document: string) => ["document", document] as const,
  page: (document: string, page: number) => ["page", document, page] as const,
  status: ["status"] as const,
  me: ["me"] as const,
  sources: ["sources"] as const,
  insights: (of: Period) => ["insights", of] as const,
  datasets: ["datasets"] as const,
  comparison: (of: Period, other: string) => ["comparison", of, other] as const,
  markedPassages: (of: Period) => ["marked-passages", of] as const,
  insightTurns: (of: Period & { filter: TurnFilter }) => ["insight-turns", of] as const,
};

/** Who asks, and what they may do. */
export function useMe() {
  return useQuery({
    queryKey: names.me,
    queryFn: async () => body(await api.GET("/me")),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** Whether who asks may load and delete documents. */
export function useMayEdit(): boolean {
  const role = useMe().data?.role;
  return role === "editor" || role === "admin";
}

export function useAssistants() {
  return useQuery({
    queryKey: names.assistants,
    queryFn: async () => body(await api.POST("/assistants/search", { body: { limit: 1000 } })),
    // Folders of assistants may change while the server runs.
    staleTime: 10_000,
  });
}

export function useGraph(assistant: string | undefined) {
  return useQuery({
    queryKey: names.graph(assistant ?? ""),
    queryFn: async () =>
      body(await api.GET("/assistants/{assistant}/graph", { params: { path: { assistant: assistant ?? "" } } })),
    enabled: !!assistant,
    staleTime: Number.POSITIVE_INFINITY,
  });
}

const THREADS = 50;
const POLL_INTERVAL = 3_000;
const LISTED_FIELDS = ["thread_id", "title", "updated_at", "status", "metadata", "message_count"];

export function useThreads(title: string) {
  return useInfiniteQuery({
    queryKey: [...names.threads, title],
    queryFn: async ({ pageParam }) =>
      body(
        await api.POST("/threads/search", {
          body: { own: true, title: title || undefined, limit: THREADS, offset: pageParam, select: LISTED_FIELDS },
        }),
      ),
    initialPageParam: 0,
    getNextPageParam: (last, pages) => (last.length < THREADS ? undefined : pages.length * THREADS),
    placeholderData: keepPreviousData,
    // Busy conversations are polled, since only the open one is streamed.
    refetchInterval: ({ state }) =>
      !refused(state.error) && state.data?.pages.flat().some(({ status }) => status === "busy")
        ? POLL_INTERVAL
        : false,
  });
}

export function useThread(thread: string | undefined) {
  return useQuery({
    queryKey: names.thread(thread ?? ""),
    queryFn: async () => body(await api.GET("/threads/{thread}", { params: { path: { thread: thread ?? "" } } })),
    enabled: !!thread,
  });
}

export function useRuns(thread: string | undefined) {
  return useQuery({
    queryKey: names.runs(thread ?? ""),
    queryFn: async () =>
      body(
        await api.GET("/threads/{thread}/runs", {
          params: { path: { thread: thread ?? "" }, query: { limit: "1000" } },
        }),
      ),
    enabled: !!thread,
  });
}

/** The state of a thread after a step of a run; 0 is before the first step. */
export function stateAfter(thread: string, run: string, step: number) {
  const checkpoint = `${run}:${String(step).padStart(6, "0")}`;
  return {
    queryKey: names.state(checkpoint),
    queryFn: async () =>
      body(await api.GET("/threads/{thread}/state/{checkpoint}", { params: { path: { thread, checkpoint } } })),
    staleTime: Number.POSITIVE_INFINITY,
  };
}

/** A conversation and its forks. */
export function useFamily(family: string | undefined) {
  return useQuery({
    queryKey: names.family(family ?? ""),
    queryFn: async () => {
      const [own, forks] = await Promise.all([
        api.POST("/threads/search", { body: { own: true, ids: [family ?? ""], select: LISTED_FIELDS } }),
        api.POST("/threads/search", {
          body: {
            own: true,
            metadata: { family },
            limit: 200,
            sort_by: "created_at",
            sort_order: "asc",
            select: LISTED_FIELDS,
          },
        }),
      ]);
      return [...body(own), ...body(forks)];
    },
    enabled: !!family,
  });
}

export type DocumentFilter = {
  readonly corpus?: string;
  readonly type?: string;
  readonly status?: string;
  readonly search?: string;
  readonly sort?: string;
};

export const DOCUMENTS = 200;

export function useDocuments(filter: DocumentFilter, offset = 0, limit = DOCUMENTS) {
  return useQuery({
    queryKey: [...names.documents, filter, offset, limit],
    queryFn: async () => documents(filter, offset, limit),
    placeholderData: keepPreviousData,
  });
}

export async function documents(filter: DocumentFilter, offset: number, limit: number) {
  const query = { ...filter, offset: String(offset), limit: String(limit) };
  return body(await api.GET("/documents", { params: { query } }));
}

export function useDocument(document: string | undefined) {
  return useQuery({
    queryKey: names.document(document ?? ""),
    queryFn: async () =>
      body(await api.GET("/documents/{document}", { params: { path: { document: document ?? "" } } })),
    enabled: !!document,
  });
}

export function usePageText(document: string, page: number) {
  return useQuery({
    queryKey: names.page(document, page),
    queryFn: async () =>
      body(
        await api.GET("/documents/{document}/pages/{page}", { params: { path: { document, page: String(page) } } }),
      ),
  });
}

/** The status of the server; `poll` refreshes it regularly. */
export function useStatus({ poll = false } = {}) {
  return useQuery({
    queryKey: names.status,
    queryFn: async () => body(await api.GET("/status")),
    refetchInterval: poll ? 30_000 : false,
    staleTime: 30_000,
  });
}

/** The places that documents are kept in step with. */
export function useSources(enabled = true) {
  return useQuery({
    enabled,
    queryKey: names.sources,
    queryFn: async () => body(await api.GET("/sources")),
    refetchInterval: ({ state }) => (state.data?.some((source) => source.running) ? 1_000 : 5_000),
  });
}

function inPeriod({ from, to, assistant }: Period) {
  return { from: String(from), to: String(to), ...(assistant ? { assistant } : {}) };
}

/** What came of the turns in some time. */
export function useInsights(of: Period) {
  return useQuery({
    queryKey: names.insights(of),
    queryFn: async () => body(await api.GET("/insights", { params: { query: inPeriod(of) } })),
    placeholderData: keepPreviousData,
    staleTime: 30_000,
  });
}

/** The turns behind a figure. */
export function useInsightTurns(of: Period & { readonly filter: TurnFilter }) {
  return useQuery({
    queryKey: names.insightTurns(of),
    queryFn: async () =>
      body(
        await api.GET("/insights/turns", { params: { query: { ...inPeriod(of), filter: of.filter, limit: "200" } } }),
      ),
    placeholderData: keepPreviousData,
    staleTime: 30_000,
  });
}

/** The datasets by name. */
export function useDatasets() {
  return useQuery({
    queryKey: names.datasets,
    queryFn: async () => body(await api.GET("/datasets")),
    staleTime: 10_000,
  });
}

/** How another assistant differs from that of a period. */
export function useComparison(of: Period, other: string) {
  return useQuery({
    queryKey: names.comparison(of, other),
    queryFn: async () =>
      body(await api.GET("/insights/comparison", { params: { query: { ...inPeriod(of), with: other } } })),
    placeholderData: keepPreviousData,
    staleTime: 30_000,
    enabled: !!of.assistant && !!other && of.assistant !== other,
  });
}

/** The passages of answers that were marked wrong. */
export function useMarkedPassages(of: Period) {
  return useQuery({
    queryKey: names.markedPassages(of),
    queryFn: async () => body(await api.GET("/insights/passages", { params: { query: inPeriod(of) } })),
    staleTime: 30_000,
  });
}
