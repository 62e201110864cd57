// Exports a conversation as Markdown, with the citations of each answer.

import { saveFile } from "../ui/save";
import type { Words } from "../words";
import { placeOf } from "../words/place";
import type { Item } from "./items";
import { matched } from "./match";

export function toMarkdown(title: string, items: readonly Item[], words: Words): string {
  const parts = items.flatMap((item) => {
    if (item.kind === "question") return [`## ${words.chat.you}`, item.text];
    const cited = item.kind === "answer" ? (item.metadata.citations ?? []) : [];
    const lines = cited.map(
      (citation) =>
        `- [${citation.source}] ${citation.title}${citation.page ? `, ${placeOf(words, citation.page, citation.location)}` : ""} (${matched(words, citation)}): “${citation.snippet}”`,
    );
    const warnings = item.kind === "answer" ? (item.metadata.warnings ?? []).map(({ text }) => `> ⚠ ${text}`) : [];
    return [`## ${words.chat.answer}`, item.text, warnings.join("\n>\n"), lines.join("\n")];
  });
  return `${[`# ${title}`, ...parts].filter(Boolean).join("\n\n")}\n`;
}

export function saveConversation(title: string, items: readonly Item[], words: Words) {
  const name = `${title.replace(/[^\p{L}\p{N}]+/gu, "-").slice(0, 60) || "ibid"}.md`;
  saveFile(name, new Blob([toMarkdown(title, items, words)], { type: "text/markdown" }));
}
