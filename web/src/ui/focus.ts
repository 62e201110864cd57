// Where the focus goes when what had it vanishes.

import { useEffect } from "react";

/** When the part that uses this vanishes, and the focus with it, another one gets it. */
export function useRefocus(selector: string) {
  useEffect(
    () => () => {
      requestAnimationFrame(() => {
        if (document.activeElement === document.body) document.querySelector<HTMLElement>(selector)?.focus();
      });
    },
    [selector],
  );
}
