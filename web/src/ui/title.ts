// What a tab is called: what is open in it.

import { useEffect } from "react";

export function useTitle(title: string) {
  useEffect(() => {
    document.title = `${title} · ibid`;
  }, [title]);
}
