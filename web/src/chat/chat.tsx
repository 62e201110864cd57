// A conversation: who answers and how, what was said, and beside it whatever was opened of an answer.

import "./chat.css";
import { AssistantRuntimeProvider, type ThreadMessageLike, useExternalStoreRuntime } from "@assistant-ui/react";
import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { names, useAssistants, useFamily, useRuns, useThread } from "../api/queries";
import type { Assistant, Thread } from "../api/schema";
import { address, go } from "../route";
import { useRefocus } from "../ui/focus";
import { useMedia } from "../ui/media";
import { attempt, tell } from "../ui/notices";
import { IconButton, Problem, Waiting } from "../ui/parts";
import { useTitle } from "../ui/title";
import { useNumbers, useWords, type Words } from "../words";
import { answer, ask, askInstead, familyOf, notes, stop, type Way } from "./asking";
import { Composer } from "./composer";
import { ConversationContext } from "./context";
import { giveBack, useDraft } from "./draft";
import { saveConversation } from "./export";
import { type Followed, useTurn } from "./follow";
import { type Item, items, withTurn } from "./items";
import { Messages } from "./messages";
import { Panel } from "./panel";
import { useSaid } from "./said";
import { Welcome } from "./welcome";

const LAST = "ibid.assistant";
const NOBODY: readonly Thread[] = [];

export function Chat({ thread: id, query }: { thread?: string; query: URLSearchParams }) {
  const words = useWords();
  const assistants = useAssistants();
  const thread = useThread(id);
  const runs = useRuns(id);
  useTitle((id && thread.data?.title) || words.chat.title);
  // What was read stays when reading it again fails.
  for (const one of [assistants, thread, runs]) {
    if (one.error && !one.data) return <Centred error={one.error} again={() => one.refetch()} />;
  }
  if (!assistants.data || (id && !(thread.data && runs.data))) {
    return (
      <div className="centred">
        <Waiting label={words.loading} />
      </div>
    );
  }
  return (
    <Conversation
      key={id ?? "new"}
      thread={id ? thread.data : undefined}
      runs={runs.data ?? []}
      assistants={assistants.data}
      open={query.get("open") ?? undefined}
    />
  );
}

function Centred({ error, again }: { error: unknown; again: () => void }) {
  return (
    <div className="centred">
      <Problem error={error} again={again} />
    </div>
  );
}

type Runs = NonNullable<ReturnType<typeof useRuns>["data"]>;
type ConversationProps = { thread?: Thread; runs: Runs; assistants: readonly Assistant[]; open?: string };

function Conversation({ thread, runs, assistants, open }: ConversationProps) {
  const words = useWords();
  const queries = useQueryClient();
  // What lies under the panel cannot be reached.
  const narrow = useMedia("(max-width: 70rem)");
  const [failure, setFailure] = useState<unknown>();
  const [pending, setPending] = useState<string>();
  const [way, setWay] = useWay(thread, runs, assistants);
  const assistant = assistants.find((known) => known.assistant_id === way.assistant);
  const id = thread?.thread_id;
  const family = useFamily(thread && familyOf(thread)).data ?? NOBODY;

  const { messages, before, more, all } = useSaid(thread);
  const said = useMemo(() => items(messages, runs), [messages, runs]);
  const last = said.at(-1);
  const working = last?.kind === "turn" ? last.run : undefined;
  const followed = useTurn(id, working);
  const status = followed?.turn.status;
  const running = status === "running" && !followed?.failure;
  const asked = status === "asked";

  // When a turn is over, what is kept of it takes the place of what was told; when it asks, the list says so.
  useEffect(() => {
    if (!id || !status || status === "running") return;
    void queries.invalidateQueries({ queryKey: names.thread(id) });
    void queries.invalidateQueries({ queryKey: names.runs(id) });
    void queries.invalidateQueries({ queryKey: names.threads });
  }, [queries, id, status]);

  const shown = useMemo(() => {
    const list = withTurn(said, followed);
    const waits: Item[] = pending ? [{ kind: "question", id: "pending", text: pending, position: list.length }] : [];
    return [...list, ...waits];
  }, [said, followed, pending]);

  const gone = useRef(false);
  useEffect(() => {
    gone.current = false;
    return () => {
      gone.current = true;
    };
  }, []);
  const trying = useCallback(async (text: string, doing: () => Promise<void>) => {
    setFailure(undefined);
    setPending(text);
    try {
      await doing();
      return true;
    } catch (error) {
      // Whoever has gone elsewhere is told there.
      if (gone.current) tell(error);
      else setFailure(error);
      return false;
    } finally {
      setPending(undefined);
    }
  }, []);
  const say = useCallback(
    (text: string) => trying(text, () => ask(queries, thread, text, way)),
    [queries, thread, way, trying],
  );
  /** Asks a question again, or another one in its place. */
  const sayInstead = async (position: number, text: string) =>
    thread ? trying("", () => askInstead(queries, thread, position, text, way)) : false;

  const runtime = useExternalStoreRuntime<Item>({
    messages: shown,
    isRunning: running || pending !== undefined,
    convertMessage: message,
    onNew: async (message) => {
      const text = textOf(message.content);
      const said =
        asked && id && working
          ? await trying(text, () => answer(queries, id, working, way.assistant, text))
          : await say(text);
      // What could not be said is not lost.
      if (!said) giveBack(runtime, id, text);
    },
    onEdit: async (message) => {
      const edited = shown.find((item) => item.id === message.sourceId);
      const text = textOf(message.content);
      if (edited && !(await sayInstead(edited.position, text))) giveBack(runtime, id, text);
    },
    onReload: async (parent) => {
      const question = shown.find((item) => item.id === parent);
      if (question) await sayInstead(question.position, question.text);
    },
    onCancel: async () => {
      if (id && working) attempt(stop(id, working));
    },
  });

  useDraft(runtime, id);

  const context = useMemo(
    () => ({
      thread,
      family,
      show: (what: string | undefined) =>
        id && go(address(["chat", id], { open: what }), { replace: open !== undefined }),
      open,
      say: asked ? undefined : say,
    }),
    [thread, family, id, open, asked, say],
  );

  return (
    <AssistantRuntimeProvider runtime={runtime}>
      <ConversationContext value={context}>
        <div className={`chat ${open ? "with-panel" : ""}`}>
          <section className="talk" aria-label={words.chat.title} inert={open !== undefined && narrow}>
            <div className="talk-top">
              <Choose assistants={assistants} way={way} onChange={setWay} />
              <span className="grow" />
              {thread && shown.length > 0 && (
                <IconButton
                  icon="export"
                  label={words.chat.export}
                  onClick={() =>
                    attempt(all().then((all) => saveConversation(thread.title, items(all, runs), words)))
                  }
                />
              )}
            </div>
            {before > 0 && <Older shown={messages.length} more={more} />}
            {shown.length === 0 && assistant ? (
              <Welcome assistant={assistant} say={say} />
            ) : (
              <Messages items={shown} />
            )}
            <div className="talk-bottom">
              <p className="hidden" role="status">
                {followed && heard(followed, words)}
              </p>
              {failure !== undefined && <Problem error={failure} />}
              {running && !followed?.connected && (
                <p className="small soft row" role="status">
                  <span className="spin" aria-hidden="true" />
                  {words.chat.reconnecting}
                </p>
              )}
              <Composer assistant={assistant} running={running} asked={asked} />
            </div>
          </section>
          {open && thread && <Panel open={open} thread={thread} items={shown} />}
        </div>
      </ConversationContext>
    </AssistantRuntimeProvider>
  );
}

/** The same for the same item, so that what was made of it once is used again. */
function message(item: Item): ThreadMessageLike {
  return {
    id: item.id,
    role: item.kind === "question" ? "user" : "assistant",
    content: [{ type: "text", text: item.text }],
    metadata: { custom: { item } },
  };
}

/** How a turn stands, for those who hear it. */
function heard({ turn, failure }: Followed, words: Words): string {
  if (failure) return words.chat.failed;
  const { working, asked, ready, stopped, failed } = words.chat;
  return { running: working, asked, done: ready, stopped, rolled_back: stopped, failed }[turn.status];
}

/** That there is more than is shown. */
function Older({ shown, more }: { shown: number; more: () => Promise<void> }) {
  const words = useWords();
  const numbers = useNumbers();
  useRefocus(".messages");
  return (
    <p className="notice older row">
      <span className="grow">{words.chat.onlyNewest(numbers.count(shown))}</span>
      <button type="button" className="button" onClick={() => attempt(more())}>
        {words.chat.showOlder}
      </button>
    </p>
  );
}

/** Who answers, and how: as the conversation notes it, or as it was chosen last. */
function useWay(thread: Thread | undefined, runs: Runs, assistants: readonly Assistant[]): [Way, (way: Way) => void] {
  const first = (): Way => {
    const noted = notes(thread);
    const known = (name: string | null | undefined) =>
      assistants.find((assistant) => assistant.assistant_id === name)?.assistant_id;
    const assistant =
      known(noted.assistant) ??
      known(runs[0]?.assistant_id) ??
      (thread ? undefined : known(localStorage.getItem(LAST))) ??
      assistants[0]?.assistant_id ??
      "";
    return { assistant, mode: noted.mode ?? undefined, format: noted.format ?? undefined };
  };
  const [way, set] = useState(first);
  const choose = (chosen: Way) => {
    localStorage.setItem(LAST, chosen.assistant);
    set(chosen);
  };
  return [way, choose];
}

type ChooseProps = { assistants: readonly Assistant[]; way: Way; onChange: (way: Way) => void };

function Choose({ assistants, way, onChange }: ChooseProps) {
  const words = useWords();
  const assistant = assistants.find((known) => known.assistant_id === way.assistant);
  const { modes = [], formats = [] } = assistant?.metadata ?? {};
  return (
    <>
      <select
        className="field strong"
        aria-label={words.chat.assistant}
        value={way.assistant}
        onChange={(event) => onChange({ assistant: event.target.value })}
      >
        {assistants.map((known) => (
          <option key={known.assistant_id} value={known.assistant_id}>
            {known.name}
          </option>
        ))}
      </select>
      {modes.length > 1 && (
        <select
          className="field"
          aria-label={words.chat.mode}
          value={way.mode ?? modes[0]}
          onChange={(event) => onChange({ ...way, mode: event.target.value })}
        >
          {modes.map((mode) => (
            <option key={mode} value={mode}>
              {words.modes[mode as keyof typeof words.modes] ?? mode}
            </option>
          ))}
        </select>
      )}
      {formats.length > 1 && (
        <select
          className="field"
          aria-label={words.chat.format}
          value={way.format ?? formats[0]}
          onChange={(event) => onChange({ ...way, format: event.target.value })}
        >
          {formats.map((format) => (
            <option key={format} value={format}>
              {words.formats[format]}
            </option>
          ))}
        </select>
      )}
    </>
  );
}

function textOf(content: readonly { readonly type: string }[]): string {
  return content
    .map((part) => ("text" in part && typeof part.text === "string" ? part.text : ""))
    .join("\n")
    .trim();
}
