// Where something stands in a document, in the terms of its format.

import type { Location } from "../api/schema";
import type { Words } from ".";

/** Page 3, sheet Rates, A5:D5, slide 2, a heading and a paragraph. */
export function placeOf(words: Words, page: number, location?: Location | null): string {
  if (!location) return words.page(page);
  const { unit, name, heading, paragraph, cells } = location;
  const { units } = words;
  const first = {
    page: words.page(page),
    section: heading ? "" : `${units.section} ${page}`,
    sheet: `${units.sheet} ${name ?? ""}`,
    slide: `${units.slide} ${page}`,
    chapter: `${units.chapter} ${page}`,
    message: units.message,
    attachment: `${units.attachment} ${name ?? ""}`,
  }[unit];
  const named = unit === "slide" || unit === "chapter" ? name : undefined;
  return [first, named, heading, paragraph && `${units.paragraph} ${paragraph}`, cells].filter(Boolean).join(", ");
}
