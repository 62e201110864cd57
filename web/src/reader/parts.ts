// The text of a page in parts: paragraphs and tables, and where in them the cited words are.

export type Part =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "table"; readonly rows: readonly (readonly string[])[] };

/** What stands between the cells of a row. */
const BAR = " | ";
/** What stands for words that are left out of a snippet. */
const GAP = " … ";

/** Paragraphs, and lines with cells as tables; the first line of a table has the names of its columns. */
export function partsOf(text: string): Part[] {
  const parts: Part[] = [];
  let lines: string[] = [];
  let rows: string[][] = [];
  const close = () => {
    const said = lines.join("\n").trim();
    if (said) parts.push({ kind: "text", text: said });
    if (rows.length > 1) parts.push({ kind: "table", rows });
    else if (rows[0]) parts.push({ kind: "text", text: rows[0].join(BAR) });
    lines = [];
    rows = [];
  };
  for (const line of text.split("\n")) {
    const cells = ` ${line} `.includes(BAR) ? ` ${line} `.split(BAR).map((cell) => cell.trim()) : undefined;
    if (cells ? rows.length === 0 : rows.length > 0) close();
    if (cells) rows.push(cells);
    else lines.push(line);
  }
  close();
  return parts;
}

/** Where the words of a snippet are in a text: however they are spaced, and whatever cells they are in. */
export function rangesOf(text: string, snippet: string | undefined): [number, number][] {
  const ranges: [number, number][] = [];
  for (const piece of snippet?.split(GAP) ?? []) {
    const words = piece.split(/[\s|]+/).filter(Boolean);
    if (words.length === 0) continue;
    const escaped = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    const found = new RegExp(escaped.join("[\\s|]+")).exec(text);
    if (found) ranges.push([found.index, found.index + found[0].length]);
  }
  ranges.sort(([one], [other]) => one - other);
  return ranges.filter(([from], index) => from >= (ranges[index - 1]?.[1] ?? 0));
}
