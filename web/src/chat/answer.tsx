// An answer, or a turn that is still running: progress, text, warnings, sources and actions.

import { ActionBarPrimitive, MessagePrimitive } from "@assistant-ui/react";
import { useEffect, useRef } from "react";
import { useMayEdit } from "../api/queries";
import type { AnswerMetadata, Warning } from "../api/schema";
import { PickButton } from "../insights/pick";
import { CopyButton } from "../ui/copy";
import { Icon } from "../ui/icons";
import { useNumbers, useWords } from "../words";
import { Citations } from "./citations";
import { useConversation } from "./context";
import { FeedbackButtons } from "./feedback";
import { useItem } from "./item";
import { type Item, isWorking } from "./items";
import { OfferView, offerOf } from "./offer";
import { Plan, Progress, Research } from "./progress";
import { Prose } from "./prose";
import { isInterrupted } from "./turn";

type Metadata = Partial<AnswerMetadata>;

export function Answer() {
  const words = useWords();
  const item = useItem();
  const { show, open } = useConversation();
  const metadata = metadataOf(item);
  const interrupted = item.kind === "turn" && isInterrupted(item.followed?.turn);
  const running = isWorking(item);
  const run = item.kind === "question" ? undefined : item.run;
  const offer = offerOf(metadata);
  const mayEdit = useMayEdit();
  useDetails(item, metadata, open, show);
  return (
    <MessagePrimitive.Root className="answer" aria-busy={running && !interrupted}>
      <h2 className="hidden">{words.chat.answer}</h2>
      {item.kind === "turn" && item.followed && <Progress followed={item.followed} />}
      {item.kind === "turn" && !item.followed && !running && (
        <p className="notice">{item.error ?? words.chat.stopped}</p>
      )}
      {metadata.plan && metadata.plan.length > 0 && item.kind === "answer" && <Plan steps={metadata.plan} />}
      {metadata.research && metadata.research.length > 0 && item.kind === "answer" && (
        <Research rounds={metadata.research} />
      )}
      {metadata.cached && <Cached from={metadata.cached} />}
      {item.text && <Prose text={offer?.words ?? item.text} metadata={metadata} name={item.id} />}
      {offer && item.kind === "answer" && <OfferView offer={offer} run={item.run} />}
      <Notices metadata={metadata} name={item.id} />
      <Citations metadata={metadata} name={item.id} />
      {!running && (
        <div className="actions">
          <CopyButton text={item.text} />
          <ActionBarPrimitive.Reload
            className="button bare icon"
            aria-label={words.chat.retry}
            title={words.chat.retry}
          >
            <Icon name="retry" />
          </ActionBarPrimitive.Reload>
          {run && <FeedbackButtons run={run} />}
          {run && mayEdit && <PickButton run={run} />}
          {metadata.structured !== undefined && !offer && (
            <button type="button" className="button bare" onClick={() => show(`details:${item.id}`)}>
              <Icon name="documents" />
              {words.details.title}
            </button>
          )}
          {run && <TraceButton run={run} />}
        </div>
      )}
      {running && run && (
        <div className="actions">
          <TraceButton run={run} />
        </div>
      )}
    </MessagePrimitive.Root>
  );
}

function TraceButton({ run }: { run: string }) {
  const words = useWords();
  const { show, open } = useConversation();
  const pressed = open === `trace:${run}`;
  return (
    <button
      type="button"
      className="button bare"
      aria-pressed={pressed}
      onClick={() => show(pressed ? undefined : `trace:${run}`)}
    >
      <Icon name="trace" />
      {words.trace.title}
    </button>
  );
}

export function metadataOf(item: Item): Metadata {
  if (item.kind === "answer") return item.metadata;
  if (item.kind === "question" || !item.followed) return {};
  const { citations, warnings, sources, cached } = item.followed.turn;
  return { citations: [...citations], warnings: [...warnings], sources: [...sources], cached };
}

/** Opens the details of a structured answer once, when it has just arrived. */
function useDetails(item: Item, metadata: Metadata, open: string | undefined, show: (what: string) => void) {
  const isNew = useRef(item.kind === "turn");
  const { structured } = metadata;
  useEffect(() => {
    if (item.kind !== "answer" || !isNew.current) return;
    isNew.current = false;
    const wide = window.matchMedia("(min-width: 70rem)").matches;
    if (structured !== undefined && !offerOf(metadata) && !open && wide) show(`details:${item.id}`);
  }, [item, structured, metadata, open, show]);
}

/** Where an answer comes from that was given before, and how to have it anew. */
function Cached({ from }: { from: NonNullable<AnswerMetadata["cached"]> }) {
  const words = useWords();
  const numbers = useNumbers();
  const age = numbers.since(from.answered_at);
  return (
    <section className="notice cached" aria-label={words.cached.title}>
      <Icon name="retry" />
      <p className="grow" title={numbers.moment(from.answered_at)}>
        {from.similar ? words.cached.similar(age) : words.cached.same(age)}
        {from.similar && (
          <>
            {" "}
            <q>{from.question}</q>
          </>
        )}
      </p>
      <ActionBarPrimitive.Reload className="button">{words.cached.again}</ActionBarPrimitive.Reload>
    </section>
  );
}

/** Notices about an answer: partial, withheld, unanswered, and the warnings of the guard. */
function Notices({ metadata, name }: { metadata: Metadata; name: string }) {
  const words = useWords();
  const { warnings = [], searched = [] } = metadata;
  return (
    <>
      {metadata.partial && <p className="notice">{words.chat.partial}</p>}
      {metadata.withheld && <p className="notice bad">{words.chat.withheld}</p>}
      {metadata.unanswered && searched.length > 0 && (
        <details className="searched small">
          <summary>{words.chat.searched(searched.length)}</summary>
          <ul>
            {searched.map((search, index) => (
              <li key={index}>{search}</li>
            ))}
          </ul>
        </details>
      )}
      {warnings.length > 0 && <Warnings warnings={warnings} name={name} />}
    </>
  );
}

function Warnings({ warnings, name }: { warnings: readonly Warning[]; name: string }) {
  const words = useWords();
  const { show, open } = useConversation();
  return (
    <section className="notice warnings" aria-label={words.chat.warnings}>
      <Icon name="warning" />
      <ul>
        {warnings.map((warning, index) => (
          <li key={index}>
            {warning.text}
            {warning.cells && warning.cells.length > 0 && (
              <button
                type="button"
                className="button bare"
                aria-pressed={open === `cells:${name}:${index}`}
                onClick={() => show(`cells:${name}:${index}`)}
              >
                {words.chat.showCells}
              </button>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
