// A conversation: the choice of assistant, the messages, the composer, and the side panel.

import "./chat.css";
import { AssistantRuntimeProvider, type ThreadMessageLike, useExternalStoreRuntime } from "@assistant-ui/react";
import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { names, useAssistants, useDocument, useFamily, useRuns, useThread } from "../api/queries";
import type { Assistant, Document, Thread } from "../api/schema";
import { address, go } from "../route";
import { useRefocus } from "../ui/focus";
import { Icon } from "../ui/icons";
import { useMedia } from "../ui/media";
import { attempt, showError } from "../ui/notices";
import { IconButton, Problem, Waiting } from "../ui/parts";
import { useTitle } from "../ui/title";
import { useLanguage, useNumbers, useWords, type Words } from "../words";
import { Composer } from "./composer";
import { ConversationContext } from "./context";
import { restoreDraft, useDraft } from "./draft";
import { saveConversation } from "./export";
import { type Schema, titleOf } from "./field-schema";
import { type Followed, useTurn } from "./follow";
import { type Item, items, withTurn } from "./items";
import { Messages } from "./messages";
import { useMessages } from "./messages-window";
import { Panel } from "./panel";
import { ask, askInstead, familyOf, reply, stop, storedOptions, type TurnOptions, threadMetadata } from "./requests";
import { ShareButton, SharedNotice, useReadOnly } from "./sharing";
import { Welcome } from "./welcome";

const LAST_ASSISTANT = "ibid.assistant";
const NO_FAMILY: readonly Thread[] = [];

export function Chat({ thread: id, query }: { thread?: string; query: URLSearchParams }) {
  const words = useWords();
  const assistants = useAssistants();
  const thread = useThread(id);
  const runs = useRuns(id);
  const pinned = useDocument((!id && query.get("document")) || undefined);
  useTitle((id && thread.data?.title) || words.chat.title);
  // Data that is already loaded stays when refreshing it fails.
  for (const one of [assistants, thread, runs, pinned]) {
    if (one.error && !one.data) return <Centred error={one.error} again={() => one.refetch()} />;
  }
  if (!assistants.data || pinned.isLoading || (id && !(thread.data && runs.data))) {
    return (
      <div className="centred">
        <Waiting label={words.loading} />
      </div>
    );
  }
  return (
    <Conversation
      key={id ?? `new ${pinned.data?.id ?? ""}`}
      thread={id ? thread.data : undefined}
      runs={runs.data ?? []}
      assistants={assistants.data}
      pinned={pinned.data}
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
type ConversationProps = {
  thread?: Thread;
  runs: Runs;
  assistants: readonly Assistant[];
  /** The document that a new conversation is about. */
  pinned?: Document;
  open?: string;
};

function Conversation({ thread, runs, assistants, pinned, open }: ConversationProps) {
  const words = useWords();
  const queries = useQueryClient();
  // On a narrow screen the panel covers the conversation.
  const narrow = useMedia("(max-width: 70rem)");
  const [failure, setFailure] = useState<unknown>();
  const [pending, setPending] = useState<string>();
  const [options, setOptions] = useTurnOptions(thread, runs, assistants, pinned);
  const assistant = assistants.find((known) => known.assistant_id === options.assistant);
  const id = thread?.thread_id;
  const family = useFamily(thread && familyOf(thread)).data ?? NO_FAMILY;

  const { messages, older, fetchOlder, fetchAll } = useMessages(thread);
  const stored = useMemo(() => items(messages, runs), [messages, runs]);
  const last = stored.at(-1);
  const working = last?.kind === "turn" ? last.run : undefined;
  const followed = useTurn(id, working);
  const status = followed?.turn.status;
  const running = status === "running" && !followed?.failure;
  const interrupted = status === "interrupted";

  // When a turn ends or is interrupted, the stored state replaces the streamed one.
  useEffect(() => {
    if (!id || !status || status === "running") return;
    void queries.invalidateQueries({ queryKey: names.thread(id) });
    void queries.invalidateQueries({ queryKey: names.runs(id) });
    void queries.invalidateQueries({ queryKey: names.threads });
  }, [queries, id, status]);

  const shown = useMemo(() => {
    const list = withTurn(stored, followed);
    const unsent: Item[] = pending ? [{ kind: "question", id: "pending", text: pending, position: list.length }] : [];
    return [...list, ...unsent];
  }, [stored, followed, pending]);

  const unmounted = useRef(false);
  useEffect(() => {
    unmounted.current = false;
    return () => {
      unmounted.current = true;
    };
  }, []);
  const submit = useCallback(async (text: string, request: () => Promise<void>) => {
    setFailure(undefined);
    setPending(text);
    try {
      await request();
      return true;
    } catch (error) {
      // After navigating away, the error is shown as a notice.
      if (unmounted.current) showError(error);
      else setFailure(error);
      return false;
    } finally {
      setPending(undefined);
    }
  }, []);
  const say = useCallback(
    (text: string) => submit(text, () => ask(queries, thread, text, options)),
    [queries, thread, options, submit],
  );
  /** Asks a question again, or another one instead of it, in a new version of the conversation. */
  const sayInstead = async (position: number, text: string, anew = false) =>
    thread ? submit("", () => askInstead(queries, thread, position, text, { ...options, anew })) : false;

  const runtime = useExternalStoreRuntime<Item>({
    messages: shown,
    isRunning: running || pending !== undefined,
    convertMessage: message,
    onNew: async (message) => {
      const text = textOf(message.content);
      const sent =
        interrupted && id && working
          ? await submit(text, () => reply(queries, id, working, options.assistant, text))
          : await say(text);
      // A message that could not be sent returns to the composer.
      if (!sent) restoreDraft(runtime, id, text);
    },
    onEdit: async (message) => {
      const edited = shown.find((item) => item.id === message.sourceId);
      const text = textOf(message.content);
      if (edited && !(await sayInstead(edited.position, text))) restoreDraft(runtime, id, text);
    },
    onReload: async (parent) => {
      const question = shown.find((item) => item.id === parent);
      if (question) await sayInstead(question.position, question.text, true);
    },
    onCancel: async () => {
      if (id && working) attempt(stop(id, working));
    },
  });

  useDraft(runtime, id);
  const readOnly = useReadOnly(thread);

  const context = useMemo(
    () => ({
      thread,
      family,
      show: (what: string | undefined) =>
        id && go(address(["chat", id], { open: what }), { replace: open !== undefined }),
      open,
      assistantOf: (run: string | undefined) => {
        const name = runs.find((known) => known.run_id === run)?.assistant_id ?? options.assistant;
        return assistants.find((known) => known.assistant_id === name);
      },
      say: interrupted ? undefined : say,
    }),
    [thread, family, id, open, interrupted, say, runs, assistants, options.assistant],
  );

  return (
    <AssistantRuntimeProvider runtime={runtime}>
      <ConversationContext value={context}>
        <div className={`chat ${open ? "with-panel" : ""}`}>
          <section className="talk" aria-label={words.chat.title} inert={open !== undefined && narrow}>
            <div className="talk-top">
              <OptionPickers assistants={assistants} options={options} onChange={setOptions} />
              <span className="grow" />
              {thread && <ShareButton thread={thread} />}
              {thread && shown.length > 0 && (
                <IconButton
                  icon="export"
                  label={words.chat.export}
                  onClick={() =>
                    attempt(fetchAll().then((all) => saveConversation(thread.title, items(all, runs), words)))
                  }
                />
              )}
            </div>
            {older > 0 && <Older shown={messages.length} fetchOlder={fetchOlder} />}
            {shown.length === 0 && assistant ? (
              <Welcome assistant={assistant} say={say} />
            ) : (
              <Messages items={shown} />
            )}
            <div className="talk-bottom">
              <p className="hidden" role="status">
                {followed && announcement(followed, words)}
              </p>
              {failure !== undefined && <Problem error={failure} />}
              {running && !followed?.connected && (
                <p className="small soft row" role="status">
                  <span className="spin" aria-hidden="true" />
                  {words.chat.reconnecting}
                </p>
              )}
              {options.document && (
                <PinnedDocument
                  id={options.document}
                  onRemove={() => setOptions({ ...options, document: undefined })}
                />
              )}
              {thread && readOnly ? (
                <SharedNotice thread={thread} />
              ) : (
                <Composer assistant={assistant} running={running} interrupted={interrupted} />
              )}
            </div>
          </section>
          {open && thread && <Panel open={open} thread={thread} items={shown} />}
        </div>
      </ConversationContext>
    </AssistantRuntimeProvider>
  );
}

/** Depends on the item only, so that the runtime can reuse converted messages. */
function message(item: Item): ThreadMessageLike {
  return {
    id: item.id,
    role: item.kind === "question" ? "user" : "assistant",
    content: [{ type: "text", text: item.text }],
    metadata: { custom: { item } },
  };
}

/** The status of a turn, for screen readers. */
function announcement({ turn, failure }: Followed, words: Words): string {
  if (failure) return words.chat.failed;
  const { working, interrupted, ready, stopped, failed } = words.chat;
  return { running: working, interrupted, done: ready, stopped, rolled_back: stopped, failed }[turn.status];
}

/** Notice that older messages are not shown, with a button to fetch them. */
function Older({ shown, fetchOlder }: { shown: number; fetchOlder: () => Promise<void> }) {
  const words = useWords();
  const numbers = useNumbers();
  useRefocus(".messages");
  return (
    <p className="notice older row">
      <span className="grow">{words.chat.onlyNewest(numbers.count(shown))}</span>
      <button type="button" className="button" onClick={() => attempt(fetchOlder())}>
        {words.chat.showOlder}
      </button>
    </p>
  );
}

/** Which assistant answers, and how: as stored with the conversation, or as chosen last. */
function useTurnOptions(
  thread: Thread | undefined,
  runs: Runs,
  assistants: readonly Assistant[],
  pinned: Document | undefined,
): [TurnOptions, (options: TurnOptions) => void] {
  const first = (): TurnOptions => {
    const stored = threadMetadata(thread);
    const known = (name: string | null | undefined) =>
      assistants.find((assistant) => assistant.assistant_id === name)?.assistant_id;
    const answers = assistants.find(({ metadata }) => metadata.corpora.some((corpus) => corpus === pinned?.corpus));
    const assistant =
      known(stored.assistant) ??
      answers?.assistant_id ??
      known(runs[0]?.assistant_id) ??
      (thread ? undefined : known(localStorage.getItem(LAST_ASSISTANT))) ??
      known("default") ??
      assistants[0]?.assistant_id ??
      "";
    return { ...storedOptions(thread), ...(pinned && { document: pinned.id }), assistant };
  };
  const [options, set] = useState(first);
  const choose = (chosen: TurnOptions) => {
    localStorage.setItem(LAST_ASSISTANT, chosen.assistant);
    set(chosen);
  };
  return [options, choose];
}

/** The document that the conversation is limited to. */
function PinnedDocument({ id, onRemove }: { id: string; onRemove: () => void }) {
  const words = useWords();
  const document = useDocument(id);
  return (
    <p className="pinned small">
      <span className="chip accent">
        <Icon name="documents" size={14} />
        <a href={address(["documents", id])}>{words.chat.onlyFrom(document.data?.title ?? id)}</a>
        <button
          type="button"
          className="bare"
          aria-label={words.chat.fromAll}
          title={words.chat.fromAll}
          onClick={onRemove}
        >
          <Icon name="close" size={14} />
        </button>
      </span>
    </p>
  );
}

type OptionPickersProps = {
  assistants: readonly Assistant[];
  options: TurnOptions;
  onChange: (options: TurnOptions) => void;
};

function OptionPickers({ assistants, options, onChange }: OptionPickersProps) {
  const words = useWords();
  const [language] = useLanguage();
  const assistant = assistants.find((known) => known.assistant_id === options.assistant);
  const { modes = [], formats = [], format_schemas: schemas } = assistant?.metadata ?? {};
  const titleOfFormat = (format: string) => {
    const schema = schemas?.[format] as Schema | undefined;
    return schema ? titleOf(format, schema, language) : words.textFormat;
  };
  return (
    <>
      <select
        className="field strong"
        aria-label={words.chat.assistant}
        value={options.assistant}
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
          value={options.mode ?? modes[0]}
          onChange={(event) => onChange({ ...options, mode: event.target.value })}
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
          value={options.format ?? formats[0]}
          onChange={(event) => onChange({ ...options, format: event.target.value })}
        >
          {formats.map((format) => (
            <option key={format} value={format}>
              {titleOfFormat(format)}
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
