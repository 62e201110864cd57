// Steps that a forked turn shares with the one that it was forked from: they were not taken again, and nothing was told.

import { useQueries } from "@tanstack/react-query";
import { stateAfter } from "../api/queries";
import type { Step } from "../chat/turn";

/** The steps of a turn, with those that it shares before them. */
export function useWholeWay(thread: string, run: string, told: readonly Step[]): readonly Step[] {
  const shared = Math.max((told[0]?.number ?? 1) - 1, 0);
  const states = useQueries({
    queries: Array.from({ length: shared }, (_, step) => stateAfter(thread, run, step)),
  });
  const before = states.flatMap(({ data }, index): Step[] => {
    const node = data?.next[0];
    return node ? [{ number: index + 1, attempt: 1, node, state: "finished", spent: [], calls: [], text: "" }] : [];
  });
  return [...before, ...told];
}
