// Light, dark, or the theme of the system.

import { useState } from "react";

const STORAGE_KEY = "ibid.theme";

function show(theme: string) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

show(localStorage.getItem(STORAGE_KEY) ?? "auto");

export function useTheme(): [string, (theme: string) => void] {
  const [theme, set] = useState(localStorage.getItem(STORAGE_KEY) ?? "auto");
  return [
    theme,
    (chosen) => {
      localStorage.setItem(STORAGE_KEY, chosen);
      show(chosen);
      set(chosen);
    },
  ];
}
