// The extracted text of a page, with the cited words highlighted.

import { useEffect, useRef } from "react";
import { usePageText } from "../api/queries";
import type { PageKind } from "../documents/types";
import { Problem, Waiting } from "../ui/parts";
import { useWords } from "../words";

export function TextPage({ document, page, snippet }: { document: string; page: number; snippet?: string }) {
  const words = useWords();
  const text = usePageText(document, page);
  const mark = useRef<HTMLElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the highlight scrolls into view whenever it changes
  useEffect(() => {
    mark.current?.scrollIntoView({ block: "center" });
  }, [text.data, snippet]);
  if (text.error) return <Problem error={text.error} />;
  if (!text.data) return <Waiting label={words.loading} />;
  const { passages, page: record } = text.data;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable regions must be reachable with the keyboard
    <section className="text-page" tabIndex={0} aria-label={words.page(page)}>
      {passages.length === 0 && (
        <p className="soft">{words.nothingRead(words.documents.kinds[record.kind as PageKind] ?? record.kind)}</p>
      )}
      {passages.map((passage, index) => {
        const at = snippet ? passage.text.indexOf(snippet) : -1;
        if (!snippet || at < 0) return <p key={index}>{passage.text}</p>;
        return (
          <p key={index}>
            {passage.text.slice(0, at)}
            <mark ref={mark}>{snippet}</mark>
            {passage.text.slice(at + snippet.length)}
          </p>
        );
      })}
    </section>
  );
}
