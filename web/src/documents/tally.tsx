// How the pages of a document were read, as a bar chart.

import type { PageCounts } from "../api/schema";
import { useNumbers, useWords } from "../words";
import { PAGE_KINDS } from "./types";

export function Tally({ tally }: { tally: PageCounts }) {
  const words = useWords();
  const numbers = useNumbers();
  const kinds = PAGE_KINDS.filter((kind) => tally.kinds[kind]);
  const summary = kinds.map((kind) => `${words.documents.kinds[kind]}: ${tally.kinds[kind]}`).join(", ");
  return (
    <span className="tally" title={summary}>
      <span>{numbers.count(tally.count)}</span>
      <span className="tally-bar" role="img" aria-label={summary}>
        {kinds.map((kind) => (
          <span key={kind} className={`kind-${kind}`} style={{ flexGrow: tally.kinds[kind] }} />
        ))}
      </span>
    </span>
  );
}
