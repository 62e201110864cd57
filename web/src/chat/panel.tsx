// The side panel of a conversation: a cited page, the details of an answer, or its trace.

import { Suspense, useEffect, useRef } from "react";
import type { CellQuote, Thread } from "../api/schema";
import { Boundary } from "../ui/boundary";
import { part } from "../ui/part";
import { IconButton, Waiting } from "../ui/parts";
import { useWords } from "../words";
import { metadataOf } from "./answer";
import { MatchChip } from "./citations";
import { useConversation } from "./context";
import { Details } from "./details";
import type { Item } from "./items";

const Reader = part(() => import("../reader/reader").then(({ Reader }) => Reader));
const TraceView = part(() => import("../trace/trace").then(({ TraceView }) => TraceView));

type PanelProps = { open: string; thread: Thread; items: readonly Item[] };

export function Panel({ open, thread, items }: PanelProps) {
  const words = useWords();
  const { show } = useConversation();
  const panel = useRef<HTMLElement>(null);
  // Closing the panel returns the focus to where it was.
  useEffect(() => {
    const opener = document.activeElement;
    return () => {
      if (opener instanceof HTMLElement) opener.focus({ preventScroll: true });
    };
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the panel gets the focus whenever its content changes
  useEffect(() => {
    panel.current?.focus({ preventScroll: true });
  }, [open]);
  return (
    <aside
      ref={panel}
      className="panel"
      aria-label={words.panel}
      tabIndex={-1}
      onKeyDown={(event) => {
        if (event.key === "Escape" && !event.defaultPrevented) show(undefined);
      }}
    >
      <IconButton className="panel-close" icon="close" label={words.close} onClick={() => show(undefined)} />
      <Boundary of={open}>
        <Suspense fallback={<Waiting label={words.loading} />}>
          <Opened open={open} thread={thread} items={items} />
        </Suspense>
      </Boundary>
    </aside>
  );
}

function Opened({ open, thread, items }: PanelProps) {
  const words = useWords();
  const [kind, name, rest] = parts(open);
  const item = items.find((known) => known.kind !== "question" && known.id === name);
  if (kind === "trace") return <TraceView key={name} thread={thread} run={name} position={positionOf(items, name)} />;
  if (kind === "page") return <Reader key={name} document={name} page={Number(rest)} />;
  const { citations, warnings } = item ? metadataOf(item) : {};
  const citation = kind === "cite" ? citations?.[Number(rest)] : undefined;
  if (citation?.page != null) {
    return (
      <Reader
        key={`${citation.document_id} ${citation.version}`}
        document={citation.document_id}
        page={citation.page}
        version={citation.version}
        boxes={citation.boxes}
        snippet={citation.snippet}
      >
        <blockquote className="reader-quote">
          <p>{citation.snippet}</p>
          <MatchChip citation={citation} />
        </blockquote>
      </Reader>
    );
  }
  const cells = kind === "cells" ? (warnings?.[Number(rest)]?.cells ?? []) : [];
  if (cells.length > 0) return <Cells cells={cells} />;
  if (kind === "details" && item?.kind === "answer") return <Details key={item.id} item={item} />;
  return <p className="soft panel-none">{words.notFound}</p>;
}

/** The page with the cell of the right value, and the one that the value of the answer stands in. */
function Cells({ cells }: { cells: readonly CellQuote[] }) {
  const words = useWords();
  const right = cells.at(-1);
  const wrong = cells.length > 1 ? cells[0] : undefined;
  if (!right) return null;
  const isSamePage = wrong?.document_id === right.document_id && wrong.page === right.page;
  return (
    <Reader
      key={`${right.document_id} ${right.page} ${right.row} ${right.column}`}
      document={right.document_id}
      page={right.page}
      boxes={right.boxes}
      wrong={isSamePage ? wrong.boxes : []}
      snippet={right.text}
    >
      <dl className="reader-cells">
        {wrong && <CellLine label={words.chat.standsIn} cell={wrong} />}
        <CellLine label={wrong ? words.chat.rightCell : words.chat.standsIn} cell={right} />
      </dl>
    </Reader>
  );
}

function CellLine({ label, cell }: { label: string; cell: CellQuote }) {
  const words = useWords();
  return (
    <>
      <dt>{label}</dt>
      <dd>
        <strong>{cell.text}</strong> {cell.column}, {cell.row}, {words.page(cell.page)}
      </dd>
    </>
  );
}

/** The kind of content, its ID, and a number for some kinds. */
function parts(open: string): readonly [string, string, string] {
  const [kind = "", ...rest] = open.split(":");
  const number = kind === "cite" || kind === "cells" || kind === "page" ? (rest.pop() ?? "") : "";
  return [kind, rest.join(":"), number];
}

/** The position of the question of a turn. */
function positionOf(items: readonly Item[], run: string): number {
  const at = items.findIndex((item) => item.kind !== "question" && item.run === run);
  return items[at - 1]?.position ?? 0;
}
