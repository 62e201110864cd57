// Light, dark, or as the system has it.

import { useState } from "react";

const PLACE = "ibid.theme";

function show(theme: string) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

show(localStorage.getItem(PLACE) ?? "auto");

export function useTheme(): [string, (theme: string) => void] {
  const [theme, set] = useState(localStorage.getItem(PLACE) ?? "auto");
  return [
    theme,
    (chosen) => {
      localStorage.setItem(PLACE, chosen);
      show(chosen);
      set(chosen);
    },
  ];
}
