// Client of the API, typed by its OpenAPI description.

import createClient, { type Middleware } from "openapi-fetch";
import { key, requestKey } from "./key";
import type { paths } from "./schema";

/** An error that the server reported. */
export class Failure extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly requestId?: string,
  ) {
    super(message);
  }
}

/** Whether the server refused the request, so that retrying would not help. */
export function refused(error: unknown): boolean {
  return error instanceof Failure && error.status < 500 && error.status !== 429;
}

/** The server could not be reached. */
export class Unreached extends Error {}

/** Like `fetch`, but fails with `Unreached` if the server cannot be reached. */
export async function reach(input: RequestInfo, init?: RequestInit): Promise<Response> {
  try {
    return await fetch(input, init);
  } catch (error) {
    throw error instanceof TypeError ? new Unreached("the server cannot be reached") : error;
  }
}

/** The error in a response. */
export async function failure(response: Response): Promise<Failure> {
  if (response.status === 401) requestKey();
  const requestId = response.headers.get("x-request-id") ?? undefined;
  const text = await response.text().catch(() => "");
  try {
    const problem: unknown = JSON.parse(text);
    if (
      typeof problem === "object" &&
      problem !== null &&
      "detail" in problem &&
      typeof problem.detail === "string"
    ) {
      return new Failure(response.status, problem.detail, requestId);
    }
  } catch {
    // Not JSON: the text is shown as it is.
  }
  return new Failure(response.status, text.slice(0, 500) || `${response.status} ${response.statusText}`, requestId);
}

/** The headers of a request, with the API key if there is one. */
export function withApiKey(headers: Record<string, string> = {}): Record<string, string> {
  const stored = key();
  return stored ? { ...headers, "x-api-key": stored } : headers;
}

const middleware: Middleware = {
  onRequest({ request }) {
    for (const [name, value] of Object.entries(withApiKey())) request.headers.set(name, value);
    return request;
  },
  async onResponse({ response }) {
    if (!response.ok) throw await failure(response);
  },
};

export const api = createClient<paths>({ baseUrl: location.origin, fetch: reach });
api.use(middleware);

/** The body of a successful response. */
export function body<T>({ data }: { data?: T }): NonNullable<T> {
  if (data === undefined || data === null) throw new Failure(0, "the server sent an empty response");
  return data;
}
