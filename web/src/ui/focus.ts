// Moves the focus when the focused element is removed.

import { useEffect } from "react";

/** When the component unmounts and takes the focus with it, focuses another element. */
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
