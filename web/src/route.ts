// The route: the part of the URL after #, so that every view has a URL of its own.

import { useMemo, useSyncExternalStore } from "react";

export type Route = { readonly path: readonly string[]; readonly query: URLSearchParams };

/** Views and panels that had another name in earlier versions, so that saved links still work. */
const RENAMED_VIEWS = new Map([["state", "status"]]);
const RENAMED_PANELS = new Map([["way", "trace"]]);

function subscribe(listener: () => void) {
  window.addEventListener("hashchange", listener);
  return () => window.removeEventListener("hashchange", listener);
}

export function parse(hash: string): Route {
  const [before = "", after = ""] = hash.replace(/^#\/?/, "").split("?");
  const [view = "", ...rest] = before.split("/").filter(Boolean).map(decoded);
  const path = view ? [RENAMED_VIEWS.get(view) ?? view, ...rest] : [];
  const query = new URLSearchParams(after);
  const open = query.get("open");
  if (open)
    query.set(
      "open",
      open.replace(/^\w+/, (panel) => RENAMED_PANELS.get(panel) ?? panel),
    );
  return { path, query };
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

/** Navigates. `replace` replaces the current entry of the browser's history. */
export function go(to: string, { replace = false } = {}) {
  if (to === location.hash) return;
  if (replace) {
    history.replaceState(null, "", to);
    window.dispatchEvent(new HashChangeEvent("hashchange"));
  } else {
    location.hash = to;
  }
}
