// How pages may have been read.

/** The ways in which a page may have been read, in the order in which they are shown. */
export const PAGE_KINDS = ["text", "table", "scanned", "empty", "garbled"] as const;
export type PageKind = (typeof PAGE_KINDS)[number];
