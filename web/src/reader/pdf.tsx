// Renders a page of a PDF: the canvas, a text layer for selection and screen readers, and highlights.

import { GlobalWorkerOptions, getDocument, type PDFDocumentProxy, PDFWorker, TextLayer } from "pdfjs-dist";
import worker from "pdfjs-dist/build/pdf.worker.min.mjs?url";
import { useEffect, useRef, useState } from "react";
import { withApiKey } from "../api/client";
import { Problem, Waiting } from "../ui/parts";
import { useWords } from "../words";
import type { Box } from "./box";
import { Boxes } from "./boxes";

GlobalWorkerOptions.workerSrc = worker;

const ASSETS = "/assets/pdfjs";
const MAX_PIXELS = 16_000_000;

/** One worker for all documents. */
let shared: PDFWorker | undefined;

function open(id: string) {
  shared ??= new PDFWorker();
  return getDocument({
    url: `/documents/${id}/original`,
    worker: shared,
    httpHeaders: withApiKey(),
    // Fetch only the pages that are shown: a document may have thousands.
    disableAutoFetch: true,
    disableStream: true,
    cMapUrl: `${ASSETS}/cmaps/`,
    cMapPacked: true,
    standardFontDataUrl: `${ASSETS}/standard_fonts/`,
    wasmUrl: `${ASSETS}/wasm/`,
    iccUrl: `${ASSETS}/iccs/`,
  });
}

type Opened = { readonly pdf?: PDFDocumentProxy; readonly error?: unknown };

/** Opens a document while the component is mounted, with a function to try again. */
function usePdf(id: string): [Opened, () => void] {
  const [opened, setOpened] = useState<Opened>({});
  const [tries, setTries] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each attempt opens it again
  useEffect(() => {
    let gone = false;
    const task = open(id);
    task.promise.then(
      (pdf) => !gone && setOpened({ pdf }),
      (error: unknown) => !gone && setOpened({ error }),
    );
    return () => {
      gone = true;
      setOpened({});
      void task.destroy();
    };
  }, [id, tries]);
  return [opened, () => setTries(tries + 1)];
}

type PdfPageProps = {
  document: string;
  page: number;
  boxes: readonly Box[];
  wrong: readonly Box[];
  zoom: number;
};
type Size = { readonly width: number; readonly height: number };

export function PdfPage({ document: id, page, boxes, wrong, zoom }: PdfPageProps) {
  const words = useWords();
  const [{ pdf, error: unopened }, again] = usePdf(id);
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const texts = useRef<HTMLDivElement>(null);
  const first = useRef<HTMLDivElement>(null);
  const room = useWidth(frame);
  /** The size of the page in points, once it is rendered. */
  const [size, setSize] = useState<Size>();
  const [failed, setFailed] = useState<unknown>();
  const width = Math.max(room - 2, 200) * zoom;

  useEffect(() => {
    const [picture, layer] = [canvas.current, texts.current];
    if (!pdf || !picture || !layer || room === 0) return;
    let gone = false;
    let stop = () => {};
    setFailed(undefined);
    const draw = async () => {
      const opened = await pdf.getPage(page);
      const plain = opened.getViewport({ scale: 1 });
      const scale = width / plain.width;
      const viewport = opened.getViewport({ scale });
      // Some browsers render nothing on a canvas of more than about sixteen million pixels.
      const most = Math.sqrt(MAX_PIXELS / (viewport.width * viewport.height));
      const ratio = Math.min(window.devicePixelRatio || 1, 3, most);
      if (gone) return;
      // Rendered offscreen, so that the previous page stays until this one is ready.
      const aside = document.createElement("canvas");
      aside.width = Math.floor(viewport.width * ratio);
      aside.height = Math.floor(viewport.height * ratio);
      const drawing = opened.render({ canvas: aside, viewport, transform: [ratio, 0, 0, ratio, 0, 0] });
      stop = () => drawing.cancel();
      await drawing.promise;
      const content = await opened.getTextContent();
      if (gone) return;
      picture.width = aside.width;
      picture.height = aside.height;
      picture.getContext("2d")?.drawImage(aside, 0, 0);
      layer.replaceChildren();
      layer.style.setProperty("--total-scale-factor", String(scale));
      const lettering = new TextLayer({ textContentSource: content, container: layer, viewport });
      stop = () => lettering.cancel();
      await lettering.render();
      if (!gone) setSize({ width: plain.width, height: plain.height });
    };
    draw().catch((error: unknown) => {
      if (!gone) setFailed(error);
    });
    return () => {
      gone = true;
      stop();
    };
  }, [pdf, page, width, room]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the highlight scrolls into view whenever it changes
  useEffect(() => {
    if (size) first.current?.scrollIntoView({ block: "center", inline: "start" });
  }, [size, page, boxes]);

  const error = unopened ?? failed;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable regions must be reachable with the keyboard
    <section className="pdf" ref={frame} tabIndex={0} aria-label={words.page(page)}>
      {error !== undefined && error !== null && <Problem error={error} again={again} />}
      {!size && !error && <Waiting label={words.loading} />}
      <div
        className="pdf-page"
        data-page={size ? page : undefined}
        style={{ width, aspectRatio: size ? `${size.width} / ${size.height}` : undefined }}
      >
        <canvas ref={canvas} />
        <div className="textLayer" ref={texts} />
        {size && <Boxes boxes={boxes} wrong={wrong} size={size} first={first} />}
      </div>
    </section>
  );
}

function useWidth(box: React.RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    if (!box.current) return;
    const watch = new ResizeObserver(([entry]) => entry && setWidth(Math.round(entry.contentRect.width)));
    watch.observe(box.current);
    return () => watch.disconnect();
  }, [box]);
  return width;
}
