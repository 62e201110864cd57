// The words of an answer: Markdown with tables, in which the numbers of sources can be opened and doubtful words are
// marked. No markup of the model's own becomes part of the page, and links are shown with where they lead.

import { type ComponentProps, createContext, memo, type ReactNode, useContext, useMemo } from "react";
import Markdown, { type Components, type ExtraProps } from "react-markdown";
import remarkGfm from "remark-gfm";
import type { Basis } from "../api/schema";
import { TableFrame } from "../ui/parts";
import { useWords } from "../words";
import { Cite } from "./citations";
import { marks } from "./marks";

type Rests = { readonly basis: Partial<Basis>; readonly name?: string };
type ProseProps = Rests & { text: string };

/** What the words rest on. */
const RestsOn = createContext<Rests>({ basis: {} });

// The same at every drawing: what is new would take the place of what is pointed at.
const COMPONENTS: Components = {
  // Pictures would be asked for from wherever the model says.
  img: ({ alt, src }) => <span className="soft">[{alt || String(src)}]</span>,
  a: ({ href, children }) => (
    <a href={href} rel="noopener noreferrer nofollow" target="_blank" title={href}>
      {children}
    </a>
  ),
  table: Table,
  sup: Raised,
  mark: ({ node, children }) => (
    <mark className="doubted" title={String(node?.properties?.title ?? "")}>
      {children}
    </mark>
  ),
};

/** The number of a source, or what a model writes above the line. */
function Raised({ node, children }: ComponentProps<"sup"> & ExtraProps) {
  const { basis, name } = useContext(RestsOn);
  const number = Number(node?.properties?.dataSource);
  return number ? <Cite number={number} basis={basis} name={name} /> : <sup>{children}</sup>;
}

function Table({ children }: { children?: ReactNode }) {
  const words = useWords();
  return (
    <TableFrame label={words.table}>
      <table>{children}</table>
    </TableFrame>
  );
}

export const Prose = memo(function Prose({ text, basis, name }: ProseProps) {
  const doubted = (basis.warnings ?? []).flatMap((warning) =>
    warning.about ? [{ words: warning.about, why: warning.text }] : [],
  );
  const rests = useMemo(() => ({ basis, name }), [basis, name]);
  return (
    <RestsOn value={rests}>
      <div className="prose">
        <Markdown remarkPlugins={[remarkGfm, [marks, doubted]]} components={COMPONENTS}>
          {text}
        </Markdown>
      </div>
    </RestsOn>
  );
});
