// The title of the tab.

import { useEffect } from "react";

export function useTitle(title: string) {
  useEffect(() => {
    document.title = `${title} · ibid`;
  }, [title]);
}
