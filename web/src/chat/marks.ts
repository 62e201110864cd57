// Finds the numbers of sources in an answer, such as [2] or [1, 3], and the words that a warning is about.

import type { Nodes, Parents, PhrasingContent, Root, Text } from "mdast";

export type Doubt = { readonly words: string; readonly why: string };

const NUMBERS = /\[(\d{1,3}(?:\s*[,;]\s*\d{1,3})*)\]/;

/** A plugin for remark. */
export function marks(doubts: readonly Doubt[]) {
  return (tree: Root) => visit(tree, doubts);
}

function visit(parent: Parents, doubts: readonly Doubt[]) {
  // The nodes that a text is split into are valid wherever the text is.
  const children: Nodes[] = parent.children;
  parent.children = children.flatMap((child): Nodes[] => {
    if (child.type === "text") return split(child, doubts);
    if ("children" in child) visit(child, doubts);
    return [child];
  }) as typeof parent.children;
}

function split(text: Text, doubts: readonly Doubt[]): PhrasingContent[] {
  const numbers = NUMBERS.exec(text.value);
  if (numbers) {
    const before = text.value.slice(0, numbers.index);
    const after = text.value.slice(numbers.index + numbers[0].length);
    const cited = (numbers[1] ?? "").split(/[,;]/).map((number) => source(Number(number)));
    return [...split(plain(before), doubts), ...cited, ...split(plain(after), doubts)];
  }
  for (const { words, why } of doubts) {
    const at = whole(words).exec(text.value)?.index;
    if (at !== undefined) {
      const after = plain(text.value.slice(at + words.length));
      const before = plain(text.value.slice(0, at));
      return [...split(before, doubts), doubted(words, why), ...split(after, doubts)];
    }
  }
  return text.value ? [text] : [];
}

/** Matches whole words and numbers: not 5% in 25%, nor 1.5 in 1.50, but 12 in 12W. */
function whole(words: string): RegExp {
  const literal = words.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
  const before = /^\p{L}/u.test(words) ? "[\\p{L}\\p{N}]" : "\\p{N}|\\p{N}[.,]";
  const after = /\p{L}$/u.test(words) ? "[\\p{L}\\p{N}]" : "\\p{N}|[.,]\\p{N}";
  return new RegExp(`(?<!${before})${literal}(?!${after})`, "u");
}

function plain(value: string): Text {
  return { type: "text", value };
}

function source(number: number): PhrasingContent {
  const data = { hName: "sup", hProperties: { dataSource: number } };
  return { type: "emphasis", children: [plain(String(number))], data } as PhrasingContent;
}

function doubted(words: string, why: string): PhrasingContent {
  const data = { hName: "mark", hProperties: { title: why } };
  return { type: "emphasis", children: [plain(words)], data } as PhrasingContent;
}
