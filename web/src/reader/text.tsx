// The extracted text of a page, with the cited words highlighted; rows as a table.

import { type RefObject, useEffect, useRef } from "react";
import { usePageText } from "../api/queries";
import type { PageKind } from "../documents/types";
import { Problem, Waiting } from "../ui/parts";
import { useWords } from "../words";
import { type Part, partsOf, rangesOf } from "./parts";

export function TextPage({ document, page, snippet }: { document: string; page: number; snippet?: string }) {
  const words = useWords();
  const text = usePageText(document, page);
  const first = useRef<HTMLElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the highlight scrolls into view whenever it changes
  useEffect(() => {
    first.current?.scrollIntoView({ block: "center" });
  }, [text.data, snippet]);
  if (text.error) return <Problem error={text.error} />;
  if (!text.data) return <Waiting label={words.loading} />;
  const { passages, page: record } = text.data;
  const parts = passages.flatMap((passage) => partsOf(passage.text));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable regions must be reachable with the keyboard
    <section className="text-page" tabIndex={0} aria-label={words.page(page)}>
      {passages.length === 0 && (
        <p className="soft">{words.nothingRead(words.documents.kinds[record.kind as PageKind] ?? record.kind)}</p>
      )}
      {parts.map((part, index) => (
        <PagePart key={index} part={part} snippet={snippet} first={first} />
      ))}
    </section>
  );
}

type PagePartProps = { part: Part; snippet: string | undefined; first: RefObject<HTMLElement | null> };

function PagePart({ part, snippet, first }: PagePartProps) {
  if (part.kind === "text") return <p>{marked(part.text, snippet, first)}</p>;
  const [names = [], ...rows] = part.rows;
  return (
    <div className="text-table">
      <table>
        <thead>
          <tr>
            {names.map((name, column) => (
              <th key={column}>{name}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells, row) => {
            const isMarked = rangesOf(cells.join(" | "), snippet).length > 0;
            return (
              <tr key={row} className={isMarked ? "marked" : undefined}>
                {cells.map((cell, column) => (
                  <td key={column}>{isMarked ? <Marked text={cell} first={first} /> : cell}</td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function Marked({ text, first }: { text: string; first: RefObject<HTMLElement | null> }) {
  return text === "" ? null : (
    <mark
      ref={(mark) => {
        first.current ??= mark;
      }}
    >
      {text}
    </mark>
  );
}

/** A text with the cited words marked. */
function marked(text: string, snippet: string | undefined, first: RefObject<HTMLElement | null>) {
  const ranges = rangesOf(text, snippet);
  let end = 0;
  return [
    ...ranges.flatMap(([from, to]) => {
      const before = text.slice(end, from);
      end = to;
      return [before, <Marked key={from} text={text.slice(from, to)} first={first} />];
    }),
    text.slice(end),
  ];
}
