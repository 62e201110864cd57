// The requests of a first start. A server that is set up does not have them, so its description does not either.

import { failure, reach } from "../api/client";

/** Under this key, what was found is cached. */
export const REPORT = ["setup"] as const;

export type SetupProvider = {
  readonly name: string;
  readonly base_url: string;
  readonly is_local: boolean;
  readonly key_env: string | null;
  readonly has_key: boolean;
  readonly models: readonly string[];
};

export type PullStatus =
  | { readonly state: "idle" | "done" }
  | { readonly state: "running"; readonly file: string; readonly bytes: number; readonly total: number | null }
  | { readonly state: "failed"; readonly problem: string };

export type SetupReport = {
  readonly file: string;
  readonly chat: { readonly provider: string; readonly model: string } | null;
  readonly providers: readonly SetupProvider[];
  readonly embedding: boolean;
  readonly pdf: boolean;
  readonly recommended: { readonly name: string; readonly megabytes: number };
  readonly pull: PullStatus;
};

export type ModelChoice = {
  readonly provider: string;
  readonly model: string;
  readonly base_url?: string | undefined;
  readonly key?: string | undefined;
};

export type ModelTrial = { readonly text: string; readonly seconds: number; readonly context: number | null };

async function json<T>(path: string, init?: RequestInit): Promise<T> {
  const response = await reach(path, init);
  if (!response.ok) throw await failure(response);
  return (await response.json()) as T;
}

const post = <T>(path: string, body: unknown = {}) =>
  json<T>(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });

export const report = () => json<SetupReport>("/setup");
export const tryModel = (choice: ModelChoice) => post<ModelTrial>("/setup/try", choice);
export const saveModel = (choice: ModelChoice) => post<SetupReport>("/setup/model", choice);
export const pull = () => post<PullStatus>("/setup/pull");
export const pullStatus = () => json<PullStatus>("/setup/pull");
export const open = () => post<{ open: true }>("/setup/open");

/** Whether the server has been set up, and answers as one. */
export async function isOpen(): Promise<boolean> {
  try {
    return !(await json<{ setup?: boolean }>("/info")).setup;
  } catch {
    // It is changing over.
    return false;
  }
}
