// A document: the list of its pages beside the page itself.

import "./documents.css";
import { useQueryClient } from "@tanstack/react-query";
import { Suspense, useEffect, useRef, useState } from "react";
import { api, failure, reach, withApiKey } from "../api/client";
import { key } from "../api/key";
import { names, useDocument, useMayEdit } from "../api/queries";
import type { Document } from "../api/schema";
import { address, go } from "../route";
import { Boundary } from "../ui/boundary";
import { Icon } from "../ui/icons";
import { attempt } from "../ui/notices";
import { part } from "../ui/part";
import { Confirm, Problem, Waiting } from "../ui/parts";
import { useTitle } from "../ui/title";
import { useNumbers, useWords } from "../words";
import { Ledger } from "./ledger";
import { STATUS_TONES } from "./list";
import { Loads } from "./loading";
import { send, watch } from "./loads";

const Reader = part(() => import("../reader/reader").then(({ Reader }) => Reader));

export function DocumentView({ id, query }: { id: string; query: URLSearchParams }) {
  const words = useWords();
  const document = useDocument(id);
  const queries = useQueryClient();
  const page = Number(query.get("page")) || 1;
  useTitle(document.data?.title ?? words.documents.title);
  const pending = document.data && (document.data.status === "loading" || document.data.pending);
  const source = document.data?.source ?? "";
  useEffect(() => {
    if (pending) watch(queries, id, source);
  }, [queries, id, pending, source]);
  const turn = (to: number) => go(address(["documents", id], { page: String(to) }), { replace: true });
  if (document.error && !document.data) {
    return (
      <div className="centred">
        <Problem error={document.error} again={() => document.refetch()} />
      </div>
    );
  }
  if (!document.data) {
    return (
      <div className="centred">
        <Waiting label={words.loading} />
      </div>
    );
  }
  return (
    <section className="document" aria-label={document.data.title}>
      <Head document={document.data} />
      <div className="document-body">
        <Ledger pages={document.data.pages} at={page} onChoose={turn} />
        <div className="document-page">
          {document.data.pages.length > 0 ? (
            <Boundary>
              <Suspense fallback={<Waiting label={words.loading} />}>
                <Reader document={id} page={page} onPage={turn} titled={false} />
              </Suspense>
            </Boundary>
          ) : (
            <p className="soft">{words.documents.noPages}</p>
          )}
        </div>
      </div>
    </section>
  );
}

/** A link cannot send the API key, so the file is fetched first. */
async function openOriginal(id: string) {
  const response = await reach(`/documents/${id}/original`, { headers: withApiKey() });
  if (!response.ok) throw await failure(response);
  const url = URL.createObjectURL(await response.blob());
  window.open(url, "_blank", "noopener");
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

function Head({ document }: { document: Document }) {
  const words = useWords();
  const numbers = useNumbers();
  const queries = useQueryClient();
  const [deleting, setDeleting] = useState(false);
  const mayEdit = useMayEdit();
  const choose = useRef<HTMLInputElement>(null);
  const { id, corpus, kind: type, key: name, language } = document;
  const labels = [...document.labels];
  const remove = async () => {
    await api.DELETE("/documents/{document}", { params: { path: { document: id } } });
    await queries.invalidateQueries({ queryKey: names.documents });
    go(address(["documents"]));
  };
  return (
    <header className="document-top">
      <p className="small">
        <a href={address(["documents"])}>{words.documents.title}</a>
      </p>
      <div className="row document-title">
        <h1 className="grow">{document.title}</h1>
        <input
          ref={choose}
          type="file"
          hidden
          data-testid="replacement"
          onChange={(event) => {
            const file = event.target.files?.[0];
            if (file) send(queries, [file], { corpus, type, key: name, language, labels });
            event.target.value = "";
          }}
        />
        {document.status === "ready" && (
          <a className="button main" href={address(["chat"], { document: id })}>
            <Icon name="chat" size={16} />
            {words.documents.ask}
          </a>
        )}
        <a
          className="button"
          href={`/documents/${id}/original`}
          target="_blank"
          rel="noopener"
          onClick={(event) => {
            if (!key()) return;
            event.preventDefault();
            attempt(openOriginal(id));
          }}
        >
          <Icon name="export" size={16} />
          {words.documents.original}
        </a>
        {mayEdit && (
          <>
            <button type="button" className="button" onClick={() => choose.current?.click()}>
              <Icon name="replace" size={16} />
              {words.documents.replace}
            </button>
            <button type="button" className="button danger" onClick={() => setDeleting(true)}>
              <Icon name="delete" size={16} />
              {words.delete}
            </button>
          </>
        )}
      </div>
      <p className="small soft document-facts">
        <span className={`chip ${STATUS_TONES[document.status]}`}>{words.documents.statuses[document.status]}</span>
        <span>{corpus}</span>
        <code>{type}</code>
        {document.language && <span>{document.language}</span>}
        <span>{words.documents.indexed(document.chunks, numbers.count(document.chunks))}</span>
        <span>{words.documents.tablesIn(document.tables, numbers.count(document.tables))}</span>
        <span>{numbers.bytes(document.bytes)}</span>
        <span>{words.documents.loadedIn(numbers.time(document.milliseconds))}</span>
        <span>{numbers.moment(document.changed)}</span>
      </p>
      {document.problem && <p className="notice bad">{document.problem}</p>}
      <Loads />
      <Confirm
        open={deleting}
        onClose={() => setDeleting(false)}
        title={words.documents.deleteTitle}
        about={words.documents.deleteAbout(document.title)}
        yes={words.delete}
        onYes={() => attempt(remove())}
      />
    </header>
  );
}
