// Where in the page one is: the part of the address after #, so that every place has an address of its own.

import { useMemo, useSyncExternalStore } from "react";

export type Route = { readonly path: readonly string[]; readonly query: URLSearchParams };

function subscribe(listener: () => void) {
  window.addEventListener("hashchange", listener);
  return () => window.removeEventListener("hashchange", listener);
}

export function parse(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?");
  return { path: path.split("/").filter(Boolean).map(decoded), query: new URLSearchParams(query) };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function useRoute(): Route {
  const hash = useSyncExternalStore(subscribe, () => location.hash);
  return useMemo(() => parse(hash), [hash]);
}

export function address(path: readonly string[], query: Record<string, string | undefined> = {}): string {
  const given = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined);
  const after = new URLSearchParams(given).toString();
  return `#/${path.map(encodeURIComponent).join("/")}${after ? `?${after}` : ""}`;
}

/** Goes somewhere; `replace` leaves no way back to where one was. */
export function go(to: string, { replace = false } = {}) {
  if (to === location.hash) return;
  if (replace) {
    history.replaceState(null, "", to);
    window.dispatchEvent(new HashChangeEvent("hashchange"));
  } else {
    location.hash = to;
  }
}
