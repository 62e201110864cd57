// An answer, or a turn on its way to one: what it does, what it says, what that rests on, and what can be done with it.

import { ActionBarPrimitive, MessagePrimitive } from "@assistant-ui/react";
import { useEffect, useRef } from "react";
import type { Basis, Warning } from "../api/schema";
import { CopyButton } from "../ui/copy";
import { Icon } from "../ui/icons";
import { useWords } from "../words";
import { Citations } from "./citations";
import { useConversation } from "./context";
import { FeedbackButtons } from "./feedback";
import { useItem } from "./item";
import { type Item, isWorking } from "./items";
import { Plan, Progress } from "./progress";
import { Prose } from "./prose";
import { asks } from "./turn";

type Rests = Partial<Basis> & { readonly partial?: boolean };

export function Answer() {
  const words = useWords();
  const item = useItem();
  const { show, open } = useConversation();
  const basis = basisOf(item);
  const asked = item.kind === "turn" && asks(item.followed?.turn);
  const running = isWorking(item);
  const run = item.kind === "question" ? undefined : item.run;
  useDetails(item, basis, open, show);
  return (
    <MessagePrimitive.Root className="answer" aria-busy={running && !asked}>
      <h2 className="hidden">{words.chat.answer}</h2>
      {item.kind === "turn" && item.followed && <Progress followed={item.followed} />}
      {item.kind === "turn" && !item.followed && !running && (
        <p className="notice">{item.error ?? words.chat.stopped}</p>
      )}
      {basis.plan && basis.plan.length > 0 && item.kind === "answer" && <Plan steps={basis.plan} />}
      {item.text && <Prose text={item.text} basis={basis} name={item.id} />}
      <Remarks basis={basis} />
      <Citations basis={basis} name={item.id} />
      {!running && (
        <div className="actions">
          <CopyButton text={item.text} />
          <ActionBarPrimitive.Reload
            className="button bare icon"
            aria-label={words.chat.retry}
            title={words.chat.retry}
          >
            <Icon name="retry" />
          </ActionBarPrimitive.Reload>
          {run && <FeedbackButtons run={run} />}
          {basis.structured !== undefined && (
            <button type="button" className="button bare" onClick={() => show(`details:${item.id}`)}>
              <Icon name="documents" />
              {words.details.title}
            </button>
          )}
          {run && <WayButton run={run} />}
        </div>
      )}
      {running && run && (
        <div className="actions">
          <WayButton run={run} />
        </div>
      )}
    </MessagePrimitive.Root>
  );
}

function WayButton({ run }: { run: string }) {
  const words = useWords();
  const { show, open } = useConversation();
  const is = open === `way:${run}`;
  return (
    <button
      type="button"
      className="button bare"
      aria-pressed={is}
      onClick={() => show(is ? undefined : `way:${run}`)}
    >
      <Icon name="way" />
      {words.way.title}
    </button>
  );
}

function basisOf(item: Item): Rests {
  if (item.kind === "answer") return item.basis;
  if (item.kind === "question" || !item.followed) return {};
  const { citations, warnings, sources } = item.followed.turn;
  return { citations: [...citations], warnings: [...warnings], sources: [...sources] };
}

/** What comes in fields is opened by itself, once, when it has just come. */
function useDetails(item: Item, basis: Rests, open: string | undefined, show: (what: string) => void) {
  const came = useRef(item.kind === "turn");
  const { structured } = basis;
  useEffect(() => {
    if (item.kind !== "answer" || !came.current) return;
    came.current = false;
    const wide = window.matchMedia("(min-width: 70rem)").matches;
    if (structured !== undefined && !open && wide) show(`details:${item.id}`);
  }, [item, structured, open, show]);
}

/** What must be known of an answer: that there is none, that it was withheld, and what the guard found. */
function Remarks({ basis }: { basis: Rests }) {
  const words = useWords();
  const { warnings = [], searched = [] } = basis;
  return (
    <>
      {basis.partial && <p className="notice">{words.chat.partial}</p>}
      {basis.withheld && <p className="notice bad">{words.chat.withheld}</p>}
      {basis.unanswered && searched.length > 0 && (
        <details className="searched small">
          <summary>{words.chat.searched(searched.length)}</summary>
          <ul>
            {searched.map((search, index) => (
              <li key={index}>{search}</li>
            ))}
          </ul>
        </details>
      )}
      {warnings.length > 0 && <Warnings warnings={warnings} />}
    </>
  );
}

function Warnings({ warnings }: { warnings: readonly Warning[] }) {
  const words = useWords();
  return (
    <section className="notice warnings" aria-label={words.chat.warnings}>
      <Icon name="warning" />
      <ul>
        {warnings.map((warning, index) => (
          <li key={index}>{warning.text}</li>
        ))}
      </ul>
    </section>
  );
}
