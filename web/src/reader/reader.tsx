// A page of a document with highlights: PDF pages are rendered, images shown, other documents are shown as text and tables.

import "./reader.css";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useEffect, useState } from "react";
import { failure, reach, withApiKey } from "../api/client";
import { useDocument } from "../api/queries";
import { address } from "../route";
import { IconButton, Problem, Waiting } from "../ui/parts";
import { useWords } from "../words";
import type { Box } from "./box";
import { ImagePage } from "./image";
import { PdfPage } from "./pdf";
import { TextPage } from "./text";

type ReaderProps = {
  document: string;
  page: number;
  /** The version that the citation refers to. */
  version?: string;
  boxes?: readonly Box[];
  /** Boxes of what is wrong. */
  wrong?: readonly Box[];
  snippet?: string;
  children?: ReactNode;
  /** Whether to show the title, with a link to the document. */
  titled?: boolean;
  /** Called when another page is shown. */
  onPage?: (page: number) => void;
};

export function Reader({
  document: id,
  page,
  version,
  boxes = [],
  wrong = [],
  snippet,
  children,
  titled = true,
  onPage,
}: ReaderProps) {
  const words = useWords();
  const document = useDocument(id);
  const kind = useQuery({
    queryKey: ["kind", id, document.data?.version],
    enabled: !!document.data,
    queryFn: async () => {
      const response = await reach(`/documents/${id}/original`, { method: "HEAD", headers: withApiKey() });
      if (!response.ok) throw await failure(response);
      return response.headers.get("content-type") ?? "";
    },
  });
  const [at, setAt] = useState(page);
  const last = document.data?.pages.length ?? page;
  useEffect(() => setAt(Math.max(1, Math.min(page, last))), [page, last]);
  const turn = (to: number) => {
    setAt(to);
    onPage?.(to);
  };
  // On a small screen, zoom in on the highlight.
  const [zoom, setZoom] = useState(boxes.length > 0 && window.innerWidth < 640 ? 2 : 1);
  // Data that is already loaded stays when refreshing it fails.
  for (const one of [document, kind]) {
    if (one.error && one.data === undefined) return <Problem error={one.error} again={() => one.refetch()} />;
  }
  if (!document.data || kind.data === undefined) return <Waiting label={words.loading} />;
  const { title, pages } = document.data;
  const isPdf = kind.data.startsWith("application/pdf");
  // Browsers show these.
  const isImage = kind.data === "image/png" || kind.data === "image/jpeg";
  const location = pages.find((known) => known.number === at)?.location;
  const replaced = version !== undefined && document.data.version !== version;
  const isMarked = at === page && !replaced;
  return (
    <div className="reader">
      <header className="reader-top">
        {titled && (
          <h2 className="clip">
            <a href={address(["documents", id], { page: String(at) })}>{title}</a>
          </h2>
        )}
        <div className="row">
          <IconButton icon="left" label={words.previousPage} disabled={at <= 1} onClick={() => turn(at - 1)} />
          <span className="small soft" role="status">
            {words.pageOf(at, pages.length)}
            {location?.name && ` · ${location.name}`}
          </span>
          <IconButton
            icon="right"
            label={words.nextPage}
            disabled={at >= pages.length}
            onClick={() => turn(at + 1)}
          />
          <span className="grow" />
          {(isPdf || isImage) && (
            <>
              <IconButton
                icon="zoomOut"
                label={words.zoomOut}
                disabled={zoom <= 1}
                onClick={() => setZoom(Math.max(1, zoom - 0.5))}
              />
              <IconButton
                icon="zoomIn"
                label={words.zoomIn}
                disabled={zoom >= 4}
                onClick={() => setZoom(Math.min(4, zoom + 0.5))}
              />
            </>
          )}
        </div>
      </header>
      {children}
      {replaced && <p className="notice">{words.replaced}</p>}
      {isPdf ? (
        <PdfPage
          key={`${id} ${document.data.version}`}
          document={id}
          page={at}
          boxes={isMarked ? boxes : []}
          wrong={isMarked ? wrong : []}
          zoom={zoom}
        />
      ) : isImage ? (
        <ImagePage
          document={id}
          version={document.data.version}
          boxes={isMarked ? boxes : []}
          wrong={isMarked ? wrong : []}
          zoom={zoom}
        />
      ) : (
        <TextPage document={id} page={at} snippet={at === page ? snippet : undefined} />
      )}
    </div>
  );
}
