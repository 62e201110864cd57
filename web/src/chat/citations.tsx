// Citations: the numbers in the text, with a preview, and the list of sources below the answer.

import * as HoverCard from "@radix-ui/react-hover-card";
import { useState } from "react";
import type { AnswerMetadata, Citation, Source } from "../api/schema";
import { useWords } from "../words";
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
  const page = first?.[1].page ?? source?.page;
  const match = worst(citations);
  const label = words.chat.cite(
    number,
    title,
    page,
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
            {page != null && <span className="soft">{words.page(page)}</span>}
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
function webAddress(citation: Citation): string | undefined {
  return citation.document_type === "web" && /^https?:\/\//.test(citation.document_id)
    ? citation.document_id
    : undefined;
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
          const { tone, sign } = MATCHES[citation.found];
          const target = targetOf(name, [index, citation]);
          const address = webAddress(citation);
          if (address) {
            return (
              <li key={index}>
                <a
                  className={`citation card ${tone}`}
                  href={address}
                  rel="noopener noreferrer nofollow"
                  target="_blank"
                  title={citation.snippet}
                >
                  <span className={`cite ${tone}`} aria-hidden="true">
                    {citation.source}
                  </span>
                  <span className="citation-words">
                    <span className="clip strong">{citation.title}</span>
                    <span className="clip soft">
                      {words.web} · {new URL(address).host} · {matched(words, citation)}
                    </span>
                  </span>
                </a>
              </li>
            );
          }
          return (
            <li key={index}>
              <button
                type="button"
                className={`citation card ${tone}`}
                disabled={!target}
                aria-pressed={target !== undefined && target === open}
                onClick={() => target && show(target)}
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
                      {sign && <span aria-hidden="true">{sign} </span>}
                      {matched(words, citation)}
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
