// The ledger of a document: how each page was read, and why some were skipped.

import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useMemo, useRef, useState } from "react";
import type { PageRecord } from "../api/schema";
import { useNumbers, useWords } from "../words";
import { PAGE_KINDS, type PageKind } from "./types";

type LedgerProps = { pages: readonly PageRecord[]; at: number; onChoose: (page: number) => void };

export function Ledger({ pages, at, onChoose }: LedgerProps) {
  const words = useWords();
  const numbers = useNumbers();
  const [only, setOnly] = useState<PageKind | "skipped">();
  const view = useRef<HTMLDivElement>(null);
  const counts = useMemo(() => count(pages), [pages]);
  const shown = useMemo(
    () => pages.filter((page) => !only || (only === "skipped" ? !!page.skipped : page.kind === only)),
    [pages, only],
  );
  const rows = useVirtualizer({
    count: shown.length,
    getScrollElement: () => view.current,
    estimateSize: () => 44,
    overscan: 12,
  });
  const index = shown.findIndex((page) => page.number === at);
  useEffect(() => {
    if (index >= 0) rows.scrollToIndex(index, { align: "auto" });
  }, [index, rows]);
  return (
    <section className="ledger" aria-label={words.documents.ledger}>
      <fieldset className="ledger-kinds">
        <legend className="hidden">{words.documents.ledger}</legend>
        {[...PAGE_KINDS, "skipped" as const].map((kind) =>
          counts[kind] ? (
            <button
              key={kind}
              type="button"
              className={`chip kind ${kind}`}
              aria-pressed={only === kind}
              onClick={() => setOnly(only === kind ? undefined : kind)}
            >
              <span className={`dot kind-${kind}`} aria-hidden="true" />
              {words.documents.kinds[kind]} {numbers.count(counts[kind])}
            </button>
          ) : null,
        )}
      </fieldset>
      <div className="card ledger-pages" ref={view}>
        <ol style={{ height: rows.getTotalSize() }}>
          {rows.getVirtualItems().map((row) => {
            const page = shown[row.index];
            return (
              page && (
                <li key={page.number} style={{ transform: `translateY(${row.start}px)` }}>
                  <button
                    type="button"
                    className="ledger-page"
                    aria-current={page.number === at ? "true" : undefined}
                    onClick={() => onChoose(page.number)}
                  >
                    <span className="ledger-number">{page.number}</span>
                    <span className={`dot kind-${page.kind}`} aria-hidden="true" />
                    <span className="grow clip">
                      {page.location?.name || (words.documents.kinds[page.kind as PageKind] ?? page.kind)}
                      {page.skipped && (
                        <span className="soft">
                          {" "}
                          · {words.documents.skips[page.skipped as never] ?? page.skipped}
                        </span>
                      )}
                    </span>
                    <span className="soft small">
                      {page.rows
                        ? words.documents.rows(page.rows, numbers.count(page.rows))
                        : words.documents.characters(page.characters, numbers.count(page.characters))}
                    </span>
                  </button>
                </li>
              )
            );
          })}
        </ol>
      </div>
      {pages
        .find((page) => page.number === at)
        ?.remarks?.map((remark) => (
          <p key={remark} className="notice">
            {remark}
          </p>
        ))}
    </section>
  );
}

function count(pages: readonly PageRecord[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const page of pages) {
    counts[page.kind] = (counts[page.kind] ?? 0) + 1;
    if (page.skipped) counts.skipped = (counts.skipped ?? 0) + 1;
  }
  return counts;
}
