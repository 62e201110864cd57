// Speaks to the server that this page came from, with the types that the server tells of itself.

import createClient, { type Middleware } from "openapi-fetch";
import { key, keyIsWanted } from "./key";
import type { paths } from "./schema";

/** What went wrong, in the server's words. */
export class Failure extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly trace?: string,
  ) {
    super(message);
  }
}

/** Whether the server refuses something, and will refuse it again. */
export function refused(error: unknown): boolean {
  return error instanceof Failure && error.status < 500 && error.status !== 429;
}

/** The server did not answer at all. */
export class Unreached extends Error {}

/** Asks the server; what cannot reach it is told apart from what it refuses. */
export async function reach(asked: RequestInfo, how?: RequestInit): Promise<Response> {
  try {
    return await fetch(asked, how);
  } catch (error) {
    throw error instanceof TypeError ? new Unreached("the server cannot be reached") : error;
  }
}

/** What a server says of what went wrong. */
export async function failure(response: Response): Promise<Failure> {
  if (response.status === 401) keyIsWanted();
  const trace = response.headers.get("x-request-id") ?? undefined;
  const text = await response.text().catch(() => "");
  try {
    const told: unknown = JSON.parse(text);
    if (typeof told === "object" && told !== null && "detail" in told && typeof told.detail === "string") {
      return new Failure(response.status, told.detail, trace);
    }
  } catch {
    // It is no JSON: what it says is shown as it is.
  }
  return new Failure(response.status, text.slice(0, 500) || `${response.status} ${response.statusText}`, trace);
}

/** Headers that every request carries. */
export function identified(headers: Record<string, string> = {}): Record<string, string> {
  const held = key();
  return held ? { ...headers, "x-api-key": held } : headers;
}

const told: Middleware = {
  onRequest({ request }) {
    for (const [name, value] of Object.entries(identified())) request.headers.set(name, value);
    return request;
  },
  async onResponse({ response }) {
    if (!response.ok) throw await failure(response);
  },
};

export const api = createClient<paths>({ baseUrl: location.origin, fetch: reach });
api.use(told);

/** The body of an answer that went well. */
export function body<T>({ data }: { data?: T }): NonNullable<T> {
  if (data === undefined || data === null) throw new Failure(0, "the server answered with nothing");
  return data;
}
