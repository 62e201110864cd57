// The list of documents, with filters, uploads, and loads in progress.

import "./documents.css";
import { useQueryClient } from "@tanstack/react-query";
import { type DragEvent, type ReactNode, Suspense, useEffect, useRef, useState } from "react";
import { type DocumentFilter, useDocuments, useMayEdit, useMe, useSources } from "../api/queries";
import { address, go } from "../route";
import { Icon } from "../ui/icons";
import { part } from "../ui/part";
import { Problem } from "../ui/parts";
import { useTitle } from "../ui/title";
import { useWords } from "../words";
import { AddFiles, FromUrl } from "./adding";
import { Figures } from "./figures";
import { List } from "./list";
import { Loads } from "./loading";
import { watch } from "./loads";

const Sources = part(() => import("./sources").then(({ Sources }) => Sources));

const FILTERS = ["corpus", "type", "status", "search", "sort"] as const;
const STATUSES = ["ready", "loading", "empty", "failed", "duplicate"] as const;

export function Documents({ query }: { query: URLSearchParams }) {
  const words = useWords();
  const queries = useQueryClient();
  const filter: DocumentFilter = Object.fromEntries(
    FILTERS.flatMap((name) => {
      const value = query.get(name);
      return value ? [[name, value]] : [];
    }),
  );
  useTitle(words.documents.title);
  const first = useDocuments(filter);
  const mayEdit = useMayEdit();
  const sources = useSources(useMe().data?.role === "admin");
  const loading = useDocuments({ status: "loading" }, 0, 50);
  const [dropping, setDropping] = useState(false);
  const [fetching, setFetching] = useState(false);
  const [files, setFiles] = useState<readonly File[]>([]);
  const choose = useRef<HTMLInputElement>(null);

  // Follow all loads in progress, also those of other users.
  useEffect(() => {
    for (const { id, source } of loading.data?.documents ?? []) watch(queries, id, source);
  }, [queries, loading.data]);

  const set = (name: (typeof FILTERS)[number], value: string) =>
    go(address(["documents"], { ...filter, [name]: value || undefined }), { replace: true });
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setDropping(false);
    if (mayEdit) setFiles([...event.dataTransfer.files]);
  };
  const { corpora = {}, types = {}, figures, total } = first.data ?? {};
  const choices = { corpora: Object.keys(corpora), types: Object.keys(types), filter };
  const nothing = first.data && Object.keys(corpora).length === 0;
  return (
    <section
      className={`view documents ${dropping ? "dropping" : ""}`}
      aria-label={words.documents.title}
      onDragOver={(event) => {
        event.preventDefault();
        setDropping(true);
      }}
      onDragLeave={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget as Node)) setDropping(false);
      }}
      onDrop={drop}
    >
      <div className="view-inside documents-inside">
        <header className="row documents-top">
          <h1 className="grow">{words.documents.title}</h1>
          <input
            ref={choose}
            type="file"
            multiple
            hidden
            data-testid="files"
            onChange={(event) => {
              setFiles([...(event.target.files ?? [])]);
              event.target.value = "";
            }}
          />
          {mayEdit && (
            <>
              <button type="button" className="button" onClick={() => setFetching(true)}>
                <Icon name="link" size={16} />
                {words.documents.fromUrl}
              </button>
              <button type="button" className="button main" onClick={() => choose.current?.click()}>
                <Icon name="upload" size={16} />
                {words.documents.add}
              </button>
            </>
          )}
        </header>
        {figures && !nothing && <Figures figures={figures} />}
        <Loads />
        {sources.data && sources.data.length > 0 && (
          <Suspense>
            <Sources />
          </Suspense>
        )}
        {first.error && <Problem error={first.error} again={() => first.refetch()} />}
        {nothing && mayEdit ? (
          <button type="button" className="drop-here" onClick={() => choose.current?.click()}>
            <Icon name="upload" size={28} />
            <span className="strong">{words.documents.dropHere}</span>
            <span className="soft small">{words.documents.dropAbout}</span>
          </button>
        ) : (
          <>
            <search className="filters">
              <label className="grow">
                <span className="hidden">{words.documents.search}</span>
                <input
                  type="search"
                  className="field"
                  placeholder={words.documents.search}
                  value={filter.search ?? ""}
                  onChange={(event) => set("search", event.target.value)}
                />
              </label>
              <Pick label={words.documents.corpus} value={filter.corpus} onPick={(value) => set("corpus", value)}>
                {Object.entries(corpora).map(([name, count]) => (
                  <option key={name} value={name}>{`${name} (${count})`}</option>
                ))}
              </Pick>
              <Pick label={words.documents.type} value={filter.type} onPick={(value) => set("type", value)}>
                {Object.entries(types).map(([name, count]) => (
                  <option key={name} value={name}>{`${name} (${count})`}</option>
                ))}
              </Pick>
              <Pick label={words.documents.status} value={filter.status} onPick={(value) => set("status", value)}>
                {STATUSES.map((status) => (
                  <option key={status} value={status}>
                    {words.documents.statuses[status]}
                  </option>
                ))}
              </Pick>
              <select
                className="field"
                aria-label={words.documents.sort}
                value={filter.sort ?? "source"}
                onChange={(event) => set("sort", event.target.value)}
              >
                {(["source", "title", "changed", "pages"] as const).map((sort) => (
                  <option key={sort} value={sort}>
                    {words.documents.sorts[sort]}
                  </option>
                ))}
              </select>
            </search>
            {total === 0 && <p className="soft">{words.documents.noMatches}</p>}
            {total !== undefined && total > 0 && <List filter={filter} total={total} />}
          </>
        )}
      </div>
      {dropping && (
        <div className="drop-veil" aria-hidden="true">
          {words.documents.dropNow}
        </div>
      )}
      <AddFiles {...choices} files={files} onClose={() => setFiles([])} />
      <FromUrl {...choices} open={fetching} onClose={() => setFetching(false)} />
    </section>
  );
}

type PickProps = { label: string; value?: string; onPick: (value: string) => void; children: ReactNode };

function Pick({ label, value, onPick, children }: PickProps) {
  const words = useWords();
  return (
    <select className="field" aria-label={label} value={value ?? ""} onChange={(event) => onPick(event.target.value)}>
      <option value="">{words.documents.all(label)}</option>
      {children}
    </select>
  );
}
