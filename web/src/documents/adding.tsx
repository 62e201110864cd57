// The dialogs that add documents: files or URLs, and where they belong.

import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useEffect, useId, useState } from "react";
import { useAssistants } from "../api/queries";
import { Dialog } from "../ui/parts";
import { useWords } from "../words";
import { type DocumentMetadata, fetchFrom, send } from "./loads";

/** The corpus of documents for which none is chosen. */
const USUAL = "documents";
/** The choice of a corpus that does not exist yet. */
const NEW = "\0";

type AddingProps = {
  /** The corpora and types that there are. */
  readonly corpora: readonly string[];
  readonly types: readonly string[];
  /** What is chosen first. */
  readonly filter: DocumentMetadata;
  readonly onClose: () => void;
};

export function AddFiles({ files, ...props }: AddingProps & { files: readonly File[] }) {
  const words = useWords();
  const queries = useQueryClient();
  return (
    <Adding
      {...props}
      open={files.length > 0}
      title={words.documents.addFiles(files.length)}
      about={files.map((file) => file.name).join(", ")}
      yes={words.documents.upload}
      onYes={(metadata) => send(queries, files, metadata)}
    />
  );
}

export function FromUrl({ open, ...props }: AddingProps & { open: boolean }) {
  const words = useWords();
  const queries = useQueryClient();
  const [text, setText] = useState("");
  const urls = text.split(/\s+/).filter((line) => /^https?:\/\//.test(line));
  return (
    <Adding
      {...props}
      open={open}
      title={words.documents.fromUrl}
      about={words.documents.urlAbout}
      yes={words.documents.fetch(urls.length)}
      ready={urls.length > 0}
      onYes={(metadata) => {
        for (const url of urls) void fetchFrom(queries, url, metadata);
        setText("");
      }}
    >
      <textarea
        className="field"
        rows={4}
        aria-label={words.documents.urls}
        placeholder="https://"
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
    </Adding>
  );
}

type FormProps = AddingProps & {
  readonly open: boolean;
  readonly title: string;
  readonly about: string;
  readonly yes: string;
  readonly ready?: boolean;
  readonly onYes: (metadata: DocumentMetadata) => void;
  readonly children?: ReactNode;
};

function Adding({ open, onClose, title, about, yes, ready = true, onYes, children, ...choices }: FormProps) {
  const words = useWords();
  const { filter } = choices;
  const [metadata, setMetadata] = useState<DocumentMetadata>(filter);
  // A dialog that opens again begins with what the list shows.
  useEffect(() => {
    if (open) setMetadata({ corpus: filter.corpus, type: filter.type });
  }, [open, filter.corpus, filter.type]);
  return (
    <Dialog open={open} onClose={onClose} title={title} about={about}>
      <form
        className="feedback"
        onSubmit={(event) => {
          event.preventDefault();
          onYes(metadata);
          onClose();
        }}
      >
        {children}
        <Destination {...choices} metadata={metadata} onChange={setMetadata} />
        <div className="row feedback-bottom">
          <button type="button" className="button" onClick={onClose}>
            {words.cancel}
          </button>
          <button type="submit" className="button main" disabled={!ready || metadata.corpus === NEW}>
            {yes}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

type DestinationProps = Pick<AddingProps, "corpora" | "types"> & {
  readonly metadata: DocumentMetadata;
  readonly onChange: (metadata: DocumentMetadata) => void;
};

/** Where documents belong: the corpus, by the assistants that answer from it, their type, and who may see them. */
function Destination({ corpora, types, metadata, onChange }: DestinationProps) {
  const words = useWords();
  const known = useId();
  const assistants = useAssistants();
  const [isNew, setNew] = useState(false);
  const names = new Map<string, string[]>([[USUAL, []]]);
  for (const { name, metadata } of assistants.data ?? []) {
    const own = (metadata as { corpora?: string[] }).corpora ?? [];
    for (const corpus of own) names.set(corpus, [...(names.get(corpus) ?? []), name]);
  }
  for (const corpus of corpora) if (!names.has(corpus)) names.set(corpus, []);
  return (
    <>
      <label className="labelled">
        <span>{words.documents.corpus}</span>
        <select
          className="field"
          value={isNew ? NEW : (metadata.corpus ?? USUAL)}
          onChange={({ target: { value } }) => {
            setNew(value === NEW);
            onChange({ ...metadata, corpus: value });
          }}
        >
          {[...names].map(([corpus, of]) => (
            <option key={corpus} value={corpus}>
              {of.length > 0 ? words.documents.corpusFor(corpus, of.join(", ")) : corpus}
            </option>
          ))}
          <option value={NEW}>{words.documents.newCorpus}</option>
        </select>
      </label>
      {isNew && (
        <label className="labelled">
          <span>{words.documents.corpusName}</span>
          <input
            className="field"
            required
            pattern="[a-z0-9][a-z0-9_\-]{0,62}"
            title={words.documents.corpusRule}
            onChange={({ target: { value } }) => onChange({ ...metadata, corpus: value || NEW })}
          />
        </label>
      )}
      <label className="labelled">
        <span>{words.documents.type}</span>
        <input
          className="field"
          list={known}
          placeholder={words.documents.typeByName}
          value={metadata.type ?? ""}
          onChange={({ target: { value } }) => onChange({ ...metadata, type: value || undefined })}
        />
        <datalist id={known}>
          {types.map((type) => (
            <option key={type} value={type} />
          ))}
        </datalist>
      </label>
      <label className="labelled">
        <span>{words.documents.labels}</span>
        <input
          className="field"
          placeholder={words.documents.labelsAbout}
          onChange={({ target: { value } }) =>
            onChange({ ...metadata, labels: value.split(/[\s,]+/).filter((label) => label) })
          }
        />
      </label>
    </>
  );
}
