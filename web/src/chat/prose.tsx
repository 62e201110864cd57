// The text of an answer: Markdown with tables, clickable source numbers and highlighted warnings. HTML written by the model
// is not rendered, and links show their target.

import { type ComponentProps, createContext, memo, type ReactNode, useContext, useMemo } from "react";
import Markdown, { type Components, type ExtraProps } from "react-markdown";
import remarkGfm from "remark-gfm";
import type { AnswerMetadata } from "../api/schema";
import { TableFrame } from "../ui/parts";
import { useWords } from "../words";
import { Cite } from "./citations";
import { marks } from "./marks";

type ProseContext = { readonly metadata: Partial<AnswerMetadata>; readonly name?: string };
type ProseProps = ProseContext & { text: string };

/** The sources that numbers in the text refer to. */
const SourcesContext = createContext<ProseContext>({ metadata: {} });

// Stable between renders: new components would remount the element under the pointer.
const COMPONENTS: Components = {
  // Images would be fetched from wherever the model says.
  img: ({ alt, src }) => <span className="soft">[{alt || String(src)}]</span>,
  a: ({ href, children }) => (
    <a href={href} rel="noopener noreferrer nofollow" target="_blank" title={href}>
      {children}
    </a>
  ),
  table: Table,
  sup: Superscript,
  mark: ({ node, children }) => (
    <mark className="doubted" title={String(node?.properties?.title ?? "")}>
      {children}
    </mark>
  ),
};

/** The number of a source, or superscript. */
function Superscript({ node, children }: ComponentProps<"sup"> & ExtraProps) {
  const { metadata, name } = useContext(SourcesContext);
  const number = Number(node?.properties?.dataSource);
  return number ? <Cite number={number} metadata={metadata} name={name} /> : <sup>{children}</sup>;
}

function Table({ children }: { children?: ReactNode }) {
  const words = useWords();
  return (
    <TableFrame label={words.table}>
      <table>{children}</table>
    </TableFrame>
  );
}

export const Prose = memo(function Prose({ text, metadata, name }: ProseProps) {
  const doubted = (metadata.warnings ?? []).flatMap((warning) =>
    warning.about ? [{ words: warning.about, why: warning.text }] : [],
  );
  const context = useMemo(() => ({ metadata, name }), [metadata, name]);
  return (
    <SourcesContext value={context}>
      <div className="prose">
        <Markdown remarkPlugins={[remarkGfm, [marks, doubted]]} components={COMPONENTS}>
          {text}
        </Markdown>
      </div>
    </SourcesContext>
  );
});
