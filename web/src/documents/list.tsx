// The list of documents, virtualized: only visible rows are fetched and rendered.

import { useQueries, useQueryClient } from "@tanstack/react-query";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef, useState } from "react";
import { api } from "../api/client";
import { DOCUMENTS, type DocumentFilter, documents, names, useMayEdit } from "../api/queries";
import type { DocumentListed } from "../api/schema";
import { address, go } from "../route";
import { attempt } from "../ui/notices";
import { Confirm, IconButton } from "../ui/parts";
import { useNumbers, useWords } from "../words";
import { Tally } from "./tally";

const ROW = 60;

export const STATUS_TONES: Record<string, string> = {
  ready: "good",
  loading: "accent",
  empty: "fair",
  failed: "bad",
  duplicate: "",
};

export function List({ filter, total }: { filter: DocumentFilter; total: number }) {
  const words = useWords();
  const view = useRef<HTMLDivElement>(null);
  const queries = useQueryClient();
  const [deleting, setDeleting] = useState<DocumentListed>();
  const rows = useVirtualizer({
    count: total,
    getScrollElement: () => view.current,
    estimateSize: () => ROW,
    overscan: 8,
  });
  const seen = rows.getVirtualItems();
  const parts = [...new Set(seen.map((row) => Math.floor(row.index / DOCUMENTS)))];
  const found = useQueries({
    queries: parts.map((part) => ({
      queryKey: [...names.documents, filter, part * DOCUMENTS, DOCUMENTS],
      queryFn: () => documents(filter, part * DOCUMENTS, DOCUMENTS),
    })),
  });
  const at = (index: number): DocumentListed | undefined =>
    found[parts.indexOf(Math.floor(index / DOCUMENTS))]?.data?.documents[index % DOCUMENTS];
  const remove = async (document: DocumentListed) => {
    await api.DELETE("/documents/{document}", { params: { path: { document: document.id } } });
    await queries.invalidateQueries({ queryKey: names.documents });
  };
  const [first, last] = [seen[0], seen.at(-1)];
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable regions must be reachable with the keyboard
    <section className="card list" ref={view} tabIndex={0} aria-label={words.documents.list}>
      <table className="plain" aria-rowcount={total + 1}>
        <thead>
          <tr>
            <th scope="col">{words.documents.document}</th>
            <th scope="col" className="wide">
              {words.documents.corpus}
            </th>
            <th scope="col" className="wide">
              {words.documents.type}
            </th>
            <th scope="col" className="wide">
              {words.documents.pages}
            </th>
            <th scope="col">{words.documents.status}</th>
            <th scope="col" className="wide">
              {words.documents.changed}
            </th>
            <th scope="col">
              <span className="hidden">{words.documents.actions}</span>
            </th>
          </tr>
        </thead>
        {first && first.start > 0 && <Space height={first.start} />}
        <tbody>
          {seen.map((row) => (
            <Row
              key={row.key}
              index={row.index}
              document={at(row.index)}
              onDelete={() => setDeleting(at(row.index))}
            />
          ))}
        </tbody>
        {last && last.end < rows.getTotalSize() && <Space height={rows.getTotalSize() - last.end} />}
      </table>
      <Confirm
        open={deleting !== undefined}
        onClose={() => setDeleting(undefined)}
        title={words.documents.deleteTitle}
        about={words.documents.deleteAbout(deleting?.title ?? "")}
        yes={words.delete}
        onYes={() => deleting && attempt(remove(deleting))}
      />
    </section>
  );
}

/** Space for rows that are not rendered. */
function Space({ height }: { height: number }) {
  return (
    <tbody aria-hidden="true">
      <tr style={{ height }}>
        <td colSpan={7} className="space" />
      </tr>
    </tbody>
  );
}

type RowProps = { index: number; document: DocumentListed | undefined; onDelete: () => void };

function Row({ index, document, onDelete }: RowProps) {
  const mayEdit = useMayEdit();
  const words = useWords();
  const numbers = useNumbers();
  if (!document) {
    return (
      <tr style={{ height: ROW }} aria-rowindex={index + 2}>
        <td colSpan={7} className="soft">
          …
        </td>
      </tr>
    );
  }
  const to = address(["documents", document.id]);
  return (
    <tr style={{ height: ROW }} aria-rowindex={index + 2} onDoubleClick={() => go(to)}>
      <th scope="row">
        <a className="clip list-title" href={to}>
          {document.title}
        </a>
        {document.source !== document.title && <span className="clip soft small list-source">{document.source}</span>}
      </th>
      <td className="wide clip">{document.corpus}</td>
      <td className="wide clip">
        <code>{document.kind}</code>
      </td>
      <td className="wide">
        <Tally tally={document.pages} />
      </td>
      <td>
        <span className={`chip ${STATUS_TONES[document.status]}`} title={document.problem ?? undefined}>
          {words.documents.statuses[document.status]}
        </span>
      </td>
      <td className="wide soft small">{numbers.since(document.changed)}</td>
      <td className="number">
        {mayEdit && (
          <IconButton icon="delete" label={words.documents.deleteNamed(document.title)} onClick={onDelete} />
        )}
      </td>
    </tr>
  );
}
