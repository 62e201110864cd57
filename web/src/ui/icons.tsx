// Icons.

import type { ReactNode } from "react";

const PATHS = {
  send: <path d="M12 19V5m-6 6 6-6 6 6" />,
  stop: <rect x="6.5" y="6.5" width="11" height="11" rx="1.5" fill="currentColor" stroke="none" />,
  copy: <path d="M9 9h10v11H9zM5 15V4h10" />,
  done: <path d="m5 12.5 4.5 4.500L19 7" />,
  retry: <path d="M4.5 12a7.5 7.5 0 1 1 2.3 5.400M4.5 18.500v-4h4" />,
  edit: <path d="m5 19 1-4L16 5l3 3L9 18z" />,
  good: (
    <path d="M8 11v8H4.500v-8zM8 11l4-7c1.5 0 2.5 1.2 2 3l-.7 3H19c1 0 1.7 1 1.4 2l-1.5 5.500c-.2.9-1 1.5-1.9 1.500H8" />
  ),
  bad: (
    <path d="M16 13V5h3.500v8zM16 13l-4 7c-1.5 0-2.5-1.2-2-3l.7-3H5c-1 0-1.7-1-1.4-2l1.5-5.500C5.3 5.6 6.1 5 7 5h9" />
  ),
  trace: <path d="M6 5.500h0M18 18.500h0M8 5.500h5a3 3 0 0 1 0 6h-2a3.5 3.5 0 0 0 0 7h5" />,
  plus: <path d="M12 5v14M5 12h14" />,
  close: <path d="m6 6 12 12M18 6 6 18" />,
  menu: <path d="M4 7h16M4 12h16M4 17h16" />,
  chat: <path d="M4 5h16v11H9l-5 4z" />,
  documents: <path d="M7 3h7l4 4v14H7zM14 3v4h4M10 12h5M10 16h5" />,
  insights: <path d="M5 20V11M10 20V5M15 20v-7M20 20V8" />,
  status: <path d="M4 12h4l2.5-6 3.5 12 2.5-6H20" />,
  delete: <path d="M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13" />,
  upload: <path d="M12 16V5m-5 5 5-5 5 5M5 19h14" />,
  link: <path d="M10 14a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1 1M14 10a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1-1" />,
  left: <path d="m14 6-6 6 6 6" />,
  right: <path d="m10 6 6 6-6 6" />,
  export: <path d="M12 5v10m-4-4 4 4 4-4M5 19h14" />,
  key: <path d="M8 19a4 4 0 1 1 0-8 4 4 0 0 1 0 8M11 12l8-8m-4 4 3 3" />,
  warning: <path d="M12 4 2.5 20h19zM12 10v4.500M12 17.200h0" />,
  search: <path d="M15.5 15.5 20 20M10.5 17a6.5 6.5 0 1 1 0-13 6.5 6.5 0 0 1 0 13" />,
  fork: <path d="M7 4v16M7 12c6 0 10-1 10-7M14 7.5 17 4.500l3 3" />,
  replace: <path d="M4 8h13m-3-3 3 3-3 3M20 16H7m3-3-3 3 3 3" />,
  car: <path d="M4 16v-3l2-5h12l2 5v3zM4 13h16M7 16v2M17 16v2M7.5 13.500h0M16.5 13.500h0" />,
  down: <path d="M12 5v14m-6-6 6 6 6-6" />,
  zoomIn: <path d="M15.5 15.5 20 20M10.5 17a6.5 6.5 0 1 1 0-13 6.5 6.5 0 0 1 0 13M8 10.500h5M10.5 8v5" />,
  zoomOut: <path d="M15.5 15.5 20 20M10.5 17a6.5 6.5 0 1 1 0-13 6.5 6.5 0 0 1 0 13M8 10.500h5" />,
} satisfies Record<string, ReactNode>;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 18 }: { name: IconName; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.7"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      {PATHS[name]}
    </svg>
  );
}
