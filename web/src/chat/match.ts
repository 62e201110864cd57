// How a citation was found, in words.

import type { Citation } from "../api/schema";
import type { Words } from "../words";

export function matched(words: Words, citation: Citation): string {
  return citation.attributed ? words.found.attributed : words.found[citation.found];
}
