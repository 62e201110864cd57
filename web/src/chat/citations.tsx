// Citations: the numbers in the text, with a preview, and the list of sources below the answer.

import * as HoverCard from "@radix-ui/react-hover-card";
import { useState } from "react";
import type { AnswerMetadata, Citation, Source } from "../api/schema";
import { useWords } from "../words";
import { placeOf } from "../words/place";
import { useConversation } from "./context";
import { matched } from "./match";

type QuoteMatch = Citation["found"];

const MATCHES: Record<QuoteMatch, { tone: string; sign: string }> = {
  exact: { tone: "good", sign: "✓" },
  fuzzy: { tone: "fair", sign: "≈" },
  not_found: { tone: "bad", sign: "✗" },
  unquoted: { tone: "", sign: "" },
};

/** Whether a quote was found on the page, and by whom. */
export function MatchChip({ citation }: { citation: Citation }) {
  const words = useWords();
  return (
    <span className={`chip ${MATCHES[citation.found].tone}`}>
      {MATCHES[citation.found].sign && <span aria-hidden="true">{MATCHES[citation.found].sign}</span>}
      {matched(words, citation)}
    </span>
  );
}

type Cited = { readonly source: Source | undefined; readonly citations: readonly [number, Citation][] };

function cited(metadata: Partial<AnswerMetadata>, number: number): Cited {
  const all = [...(metadata.citations ?? []).entries()];
  return {
    source: metadata.sources?.find((source) => source.number === number),
    citations: all.filter(([, citation]) => citation.source === number),
  };
}

/** The worst match of several citations. */
function worst(citations: readonly [number, Citation][]): QuoteMatch {
  const order: QuoteMatch[] = ["not_found", "fuzzy", "exact", "unquoted"];
  return order.find((found) => citations.some(([, citation]) => citation.found === found)) ?? "unquoted";
}

type CiteProps = { number: number; metadata: Partial<AnswerMetadata>; name?: string };

/** The number of a source in the text. */
export function Cite({ number, metadata, name }: CiteProps) {
  const words = useWords();
  const { show, open } = useConversation();
  const { source, citations } = cited(metadata, number);
  const first = citations[0];
  const title = first?.[1].title ?? source?.title ?? source?.document_id ?? "";
  const at = first?.[1].page != null ? first[1] : source;
  const place = at?.page == null ? undefined : placeOf(words, at.page, at.location);
  const match = worst(citations);
  const label = words.chat.cite(
    number,
    title,
    place,
    first && citations.length === 1 ? matched(words, first[1]) : words.found[match],
  );
  const target = targetOf(name, first, source);
  // No preview for what is already open in the panel.
  const opened = target !== undefined && target === open;
  const [hovered, setHovered] = useState(false);
  if (opened && hovered) setHovered(false);
  // Not the number of a source: plain text.
  if (!source && !first) return `[${number}]`;
  return (
    <HoverCard.Root
      openDelay={150}
      closeDelay={100}
      open={hovered}
      onOpenChange={(open) => setHovered(open && !opened)}
    >
      <HoverCard.Trigger asChild>
        <button
          type="button"
          className={`cite ${MATCHES[match].tone}`}
          aria-label={label}
          onClick={() => {
            if (!target) return;
            setHovered(false);
            show(target);
          }}
        >
          {number}
        </button>
      </HoverCard.Trigger>
      <HoverCard.Portal>
        <HoverCard.Content className="cite-card card" side="top" sideOffset={6} collisionPadding={12}>
          <p className="cite-title">
            <span className="clip">{title}</span>
            {place && <span className="soft">{place}</span>}
          </p>
          {source?.section && source.section.length > 0 && <p className="soft small">{source.section.join(" › ")}</p>}
          {citations.map(([index, citation]) => (
            <blockquote key={index}>
              <p>{citation.snippet}</p>
              <MatchChip citation={citation} />
            </blockquote>
          ))}
        </HoverCard.Content>
      </HoverCard.Portal>
    </HoverCard.Root>
  );
}

/** What a click opens: the page of the citation, or of the source. Tool results have none. */
function targetOf(name?: string, citation?: [number, Citation], source?: Source): string | undefined {
  if (citation && name && citation[1].page != null) return `cite:${name}:${citation[0]}`;
  if (source?.page != null) return `page:${source.document_id}:${source.page}`;
  return undefined;
}

/** A page of the web opens in a tab of its own: an address that a browser opens, and nothing else. */
function webAddress(citation: Citation): URL | undefined {
  const { document_type, document_id } = citation;
  if (document_type !== "web" || !/^https?:/.test(document_id)) return undefined;
  return URL.parse(document_id) ?? undefined;
}

/** The sources of an answer, one entry per citation. */
export function Citations({ metadata, name }: { metadata: Partial<AnswerMetadata>; name?: string }) {
  const words = useWords();
  const { show, open } = useConversation();
  const citations = [...(metadata.citations ?? []).entries()];
  if (citations.length === 0) return null;
  return (
    <section className="citations" aria-label={words.chat.sources}>
      <ul>
        {citations.map(([index, citation]) => {
          const className = `citation card ${MATCHES[citation.found].tone}`;
          const target = targetOf(name, [index, citation]);
          const address = webAddress(citation);
          return (
            <li key={index}>
              {address ? (
                <a
                  className={className}
                  href={address.href}
                  rel="noopener noreferrer nofollow"
                  target="_blank"
                  title={citation.snippet}
                >
                  <CitationWords citation={citation} place={`${words.web} · ${address.host}`} />
                </a>
              ) : (
                <button
                  type="button"
                  className={className}
                  disabled={!target}
                  aria-pressed={target !== undefined && target === open}
                  onClick={() => target && show(target)}
                  title={citation.snippet}
                >
                  <CitationWords
                    citation={citation}
                    place={citation.page == null ? undefined : placeOf(words, citation.page, citation.location)}
                  />
                </button>
              )}
            </li>
          );
        })}
      </ul>
    </section>
  );
}

/** The number of a citation, its title, where it stands, and whether it was found there. */
function CitationWords({ citation, place }: { citation: Citation; place: string | undefined }) {
  const words = useWords();
  const { tone, sign } = MATCHES[citation.found];
  return (
    <>
      <span className={`cite ${tone}`} aria-hidden="true">
        {citation.source}
      </span>
      <span className="citation-words">
        <span className="clip strong">{citation.title}</span>
        <span className="clip soft">
          {place && `${place} · `}
          <span className={`found ${tone}`}>
            {sign && <span aria-hidden="true">{sign} </span>}
            {matched(words, citation)}
          </span>
        </span>
      </span>
    </>
  );
}
