// Totals of the documents.

import type { ReactNode } from "react";
import type { DocumentFigures } from "../api/schema";
import { useNumbers, useWords } from "../words";

export function Figures({ figures, children }: { figures: DocumentFigures; children?: ReactNode }) {
  const words = useWords();
  const numbers = useNumbers();
  return (
    <dl className="figures">
      <div>
        <dt>{words.documents.title}</dt>
        <dd>
          {numbers.count(figures.documents)}
          {figures.ready < figures.documents && (
            <span className="soft small">
              {" "}
              {words.documents.readyCount(figures.ready, numbers.count(figures.ready))}
            </span>
          )}
        </dd>
      </div>
      <div>
        <dt>{words.documents.pages}</dt>
        <dd>
          {numbers.count(figures.pages)}
          {figures.skipped > 0 && (
            <span className="soft small">
              {" "}
              {words.documents.skippedCount(figures.skipped, numbers.count(figures.skipped))}
            </span>
          )}
        </dd>
      </div>
      <div>
        <dt>{words.documents.chunks}</dt>
        <dd>{numbers.count(figures.chunks)}</dd>
      </div>
      <div>
        <dt>{words.documents.tables}</dt>
        <dd>{numbers.count(figures.tables)}</dd>
      </div>
      <div>
        <dt>{words.documents.size}</dt>
        <dd>{numbers.bytes(figures.bytes)}</dd>
      </div>
      {children}
    </dl>
  );
}
