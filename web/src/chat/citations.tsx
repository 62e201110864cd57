// What an answer cites: a number in the text that shows the words and opens their page, and the list below it.

import * as HoverCard from "@radix-ui/react-hover-card";
import { useState } from "react";
import type { Basis, Citation, Source } from "../api/schema";
import { useWords } from "../words";
import { useConversation } from "./context";

type Found = Citation["found"];

export const MARKS: Record<Found, { tone: string; sign: string }> = {
  exact: { tone: "good", sign: "✓" },
  fuzzy: { tone: "fair", sign: "≈" },
  not_found: { tone: "bad", sign: "✗" },
  unquoted: { tone: "", sign: "·" },
};

/** How a quotation was found: the sign, and the words for it. */
export function Mark({ found }: { found: Found }) {
  const words = useWords();
  return (
    <span className={`chip ${MARKS[found].tone}`}>
      <span aria-hidden="true">{MARKS[found].sign}</span>
      {words.found[found]}
    </span>
  );
}

type Cited = { readonly source: Source | undefined; readonly citations: readonly [number, Citation][] };

function cited(basis: Partial<Basis>, number: number): Cited {
  const all = [...(basis.citations ?? []).entries()];
  return {
    source: basis.sources?.find((source) => source.number === number),
    citations: all.filter(([, citation]) => citation.source === number),
  };
}

/** The worst of several marks is what one must know. */
function worst(citations: readonly [number, Citation][]): Found {
  const order: Found[] = ["not_found", "fuzzy", "exact", "unquoted"];
  return order.find((found) => citations.some(([, citation]) => citation.found === found)) ?? "unquoted";
}

type CiteProps = { number: number; basis: Partial<Basis>; name?: string };

/** The number of a source in the text. */
export function Cite({ number, basis, name }: CiteProps) {
  const words = useWords();
  const { show, open } = useConversation();
  const { source, citations } = cited(basis, number);
  const first = citations[0];
  const title = first?.[1].title ?? source?.title ?? source?.document_id ?? "";
  const page = first?.[1].page ?? source?.page;
  const found = worst(citations);
  const label = words.chat.cite(number, title, page, words.found[found]);
  const place = placeOf(name, first, source);
  // What is open beside the text needs no card over it.
  const opened = place !== undefined && place === open;
  const [hovers, setHovers] = useState(false);
  if (opened && hovers) setHovers(false);
  // A number that no source has is a number.
  if (!source && !first) return `[${number}]`;
  return (
    <HoverCard.Root openDelay={150} closeDelay={100} open={hovers} onOpenChange={(is) => setHovers(is && !opened)}>
      <HoverCard.Trigger asChild>
        <button
          type="button"
          className={`cite ${MARKS[found].tone}`}
          aria-label={label}
          onClick={() => {
            if (!place) return;
            setHovers(false);
            show(place);
          }}
        >
          {number}
        </button>
      </HoverCard.Trigger>
      <HoverCard.Portal>
        <HoverCard.Content className="cite-card card" side="top" sideOffset={6} collisionPadding={12}>
          <p className="cite-title">
            <span className="clip">{title}</span>
            {page != null && <span className="soft">{words.page(page)}</span>}
          </p>
          {source?.section && source.section.length > 0 && <p className="soft small">{source.section.join(" › ")}</p>}
          {citations.map(([index, citation]) => (
            <blockquote key={index}>
              <p>{citation.snippet}</p>
              <Mark found={citation.found} />
            </blockquote>
          ))}
        </HoverCard.Content>
      </HoverCard.Portal>
    </HoverCard.Root>
  );
}

/** What a click opens: the page of a citation, or else that of a source. Tools have none. */
function placeOf(name?: string, citation?: [number, Citation], source?: Source): string | undefined {
  if (citation && name && citation[1].page != null) return `cite:${name}:${citation[0]}`;
  if (source?.page != null) return `page:${source.document_id}:${source.page}`;
  return undefined;
}

/** What the answer rests on, one line for each place. */
export function Citations({ basis, name }: { basis: Partial<Basis>; name?: string }) {
  const words = useWords();
  const { show, open } = useConversation();
  const citations = [...(basis.citations ?? []).entries()];
  if (citations.length === 0) return null;
  return (
    <section className="citations" aria-label={words.chat.sources}>
      <ul>
        {citations.map(([index, citation]) => {
          const { tone, sign } = MARKS[citation.found];
          const place = placeOf(name, [index, citation]);
          return (
            <li key={index}>
              <button
                type="button"
                className={`citation card ${tone}`}
                disabled={!place}
                aria-pressed={place !== undefined && place === open}
                onClick={() => place && show(place)}
                title={citation.snippet}
              >
                <span className={`cite ${tone}`} aria-hidden="true">
                  {citation.source}
                </span>
                <span className="citation-words">
                  <span className="clip strong">{citation.title}</span>
                  <span className="clip soft">
                    {citation.page != null && `${words.page(citation.page)} · `}
                    <span className={`found ${tone}`}>
                      <span aria-hidden="true">{sign}</span> {words.found[citation.found]}
                    </span>
                  </span>
                </span>
              </button>
            </li>
          );
        })}
      </ul>
    </section>
  );
}
