// The steps that a forked run shares with the original one. They did not run again, so they have no events.

import { useQueries } from "@tanstack/react-query";
import { stateAfter } from "../api/queries";
import type { Step } from "../chat/turn";

/** All steps of a run: the shared ones, and those that it ran itself. */
export function useAllSteps(thread: string, run: string, own: readonly Step[]): readonly Step[] {
  const shared = Math.max((own[0]?.number ?? 1) - 1, 0);
  const states = useQueries({
    queries: Array.from({ length: shared }, (_, step) => stateAfter(thread, run, step)),
  });
  const before = states.flatMap(({ data }, index): Step[] => {
    const node = data?.next[0];
    return node ? [{ number: index + 1, attempt: 1, node, state: "finished", usage: [], calls: [] }] : [];
  });
  return [...before, ...own];
}
