// How a page was read, in display order.

export const PAGE_KINDS = ["text", "table", "scanned", "empty", "garbled"] as const;
export type PageKind = (typeof PAGE_KINDS)[number];
