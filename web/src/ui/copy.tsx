// Copies text. The clipboard API needs a secure origin; elsewhere `execCommand` is used.

import { useEffect, useState } from "react";
import { useWords } from "../words";
import { attempt } from "./notices";
import { IconButton } from "./parts";

const SHOWN_FOR = 2_000;

export function CopyButton({ text }: { text: string }) {
  const words = useWords();
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), SHOWN_FOR);
    return () => clearTimeout(timer);
  }, [copied]);
  return (
    <IconButton
      icon={copied ? "done" : "copy"}
      label={copied ? words.copied : words.copy}
      onClick={() => attempt(copy(text, words.notCopied).then(() => setCopied(true)))}
    />
  );
}

async function copy(text: string, message: string) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const field = document.createElement("textarea");
  field.value = text;
  field.style.position = "fixed";
  document.body.append(field);
  const focused = document.activeElement;
  field.select();
  const copied = document.execCommand("copy");
  field.remove();
  if (focused instanceof HTMLElement) focused.focus();
  if (!copied) throw new Error(message);
}
