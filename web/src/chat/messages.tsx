// The messages of a conversation, virtualized. The list stays at the bottom while an answer is written, unless the user has
// scrolled up.

import { ThreadPrimitive } from "@assistant-ui/react";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { IconButton } from "../ui/parts";
import { useWords } from "../words";
import { Answer } from "./answer";
import type { Item } from "./items";
import { EditQuestion, Question } from "./question";

/** Within this distance of the bottom, in pixels, the list follows new content. */
const NEAR = 80;

const COMPONENTS = { UserMessage: Question, AssistantMessage: Answer, UserEditComposer: EditQuestion };

export function Messages({ items }: { items: readonly Item[] }) {
  const words = useWords();
  const view = useRef<HTMLDivElement>(null);
  const [atEnd, setAtEnd] = useState(true);
  const follows = useRef(true);
  const list = useVirtualizer({
    count: items.length,
    getScrollElement: () => view.current,
    estimateSize: (index) => (items[index]?.kind === "question" ? 90 : 320),
    getItemKey: (index) => items[index]?.id ?? index,
    overscan: 4,
    paddingStart: 24,
    paddingEnd: 32,
  });
  const height = list.getTotalSize();

  const toEnd = () => {
    const box = view.current;
    if (box) box.scrollTop = box.scrollHeight;
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: it follows whenever the content grows
  useLayoutEffect(() => {
    if (follows.current) toEnd();
  }, [height, items]);
  const [first, last] = [items[0]?.id, items.at(-1)?.id];
  // A new message scrolls into view.
  // biome-ignore lint/correctness/useExhaustiveDependencies: only new messages count
  useEffect(() => {
    follows.current = true;
    toEnd();
  }, [last]);
  // After older messages are fetched, the first message shown before stays in view.
  const top = useRef(first);
  useLayoutEffect(() => {
    const index = items.findIndex((item) => item.id === top.current);
    top.current = first;
    if (index <= 0) return;
    follows.current = false;
    list.scrollToIndex(index, { align: "start" });
  }, [first, items, list]);

  return (
    <ThreadPrimitive.Root className="messages-frame">
      <section
        ref={view}
        className="messages"
        aria-label={words.chat.messages}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable regions must be reachable with the keyboard
        tabIndex={0}
        onScroll={(event) => {
          const box = event.currentTarget;
          const near = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR;
          follows.current = near;
          setAtEnd(near);
        }}
      >
        <div className="messages-all" style={{ height }}>
          {list.getVirtualItems().map((row) => (
            <div
              key={row.key}
              ref={list.measureElement}
              data-index={row.index}
              className="messages-one"
              style={{ transform: `translateY(${row.start}px)` }}
            >
              <ThreadPrimitive.Unstable_MessageById messageId={String(row.key)} components={COMPONENTS} />
            </div>
          ))}
        </div>
      </section>
      {!atEnd && (
        <IconButton
          className="to-end card"
          icon="down"
          label={words.chat.toEnd}
          onClick={() => {
            follows.current = true;
            toEnd();
          }}
        />
      )}
    </ThreadPrimitive.Root>
  );
}
