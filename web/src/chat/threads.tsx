// The list of conversations, most recent first.

import "./threads.css";
import { useQueryClient } from "@tanstack/react-query";
import { useDeferredValue, useState } from "react";
import { api, body } from "../api/client";
import { names, useThreads } from "../api/queries";
import type { Thread } from "../api/schema";
import { address, go } from "../route";
import { useRefocus } from "../ui/focus";
import { Icon } from "../ui/icons";
import { attempt } from "../ui/notices";
import { Confirm, IconButton, Problem } from "../ui/parts";
import { useNumbers, useWords } from "../words";
import { heads } from "./family";
import { familyOf } from "./requests";

export function Threads({ current }: { current?: string }) {
  const words = useWords();
  const [search, setSearch] = useState("");
  const title = useDeferredValue(search.trim());
  const threads = useThreads(title);
  const [deleting, setDeleting] = useState<Thread>();
  const queries = useQueryClient();
  const all = threads.data?.pages.flat() ?? [];
  const opened = all.find((thread) => thread.thread_id === current);
  const here = (opened && familyOf(opened)) ?? current;
  /** Deletes a conversation with all its versions. */
  const remove = async (thread: Thread) => {
    const family = familyOf(thread);
    // Only one's own: a copy of somebody else's conversation has their family.
    const search = (filter: object) => api.POST("/threads/search", { body: { own: true, limit: 1000, ...filter } });
    const found = await Promise.all([search({ ids: [family] }), search({ metadata: { family } })]);
    const thread_ids = [thread, ...found.flatMap(body)].map(({ thread_id }) => thread_id);
    await api.POST("/threads/prune", { body: { thread_ids } });
    await queries.invalidateQueries({ queryKey: names.threads });
    if (family === here) go(address(["chat"]));
  };
  return (
    <section className="threads" aria-label={words.chat.conversations}>
      <div className="threads-top">
        <label className="threads-search">
          <span className="hidden">{words.chat.searchConversations}</span>
          <Icon name="search" size={15} />
          <input
            type="search"
            placeholder={words.chat.searchConversations}
            value={search}
            onChange={(event) => setSearch(event.target.value)}
          />
        </label>
        <a
          className="button bare icon"
          href={address(["chat"])}
          aria-label={words.chat.begin}
          title={words.chat.begin}
        >
          <Icon name="plus" />
        </a>
      </div>
      {threads.error && <Problem error={threads.error} again={() => threads.refetch()} />}
      <ul>
        {heads(all).map((thread) => (
          <Line
            key={thread.thread_id}
            thread={thread}
            here={familyOf(thread) === here}
            onDelete={() => setDeleting(thread)}
          />
        ))}
      </ul>
      {threads.data && all.length === 0 && <p className="soft small threads-none">{words.chat.noConversations}</p>}
      {threads.hasNextPage && (
        <button type="button" className="button bare" onClick={() => threads.fetchNextPage()}>
          {words.more}
        </button>
      )}
      <Confirm
        open={deleting !== undefined}
        onClose={() => setDeleting(undefined)}
        title={words.chat.deleteTitle}
        about={deleting?.title ?? ""}
        yes={words.delete}
        onYes={() => deleting && attempt(remove(deleting))}
      />
    </section>
  );
}

function Line({ thread, here, onDelete }: { thread: Thread; here: boolean; onDelete: () => void }) {
  const words = useWords();
  const numbers = useNumbers();
  useRefocus(".threads-search input");
  return (
    <li className={here ? "here" : ""}>
      <a href={address(["chat", thread.thread_id])} aria-current={here ? "page" : undefined}>
        <span className="clip">{thread.title || words.chat.untitled}</span>
        <span className="soft threads-when">
          {thread.status === "interrupted" && (
            <span className="chip" role="img" aria-label={words.chat.interrupted} title={words.chat.interrupted}>
              ?
            </span>
          )}
          {thread.status === "busy" && <span className="spin" role="img" aria-label={words.chat.working} />}
          {numbers.since(thread.updated_at)}
        </span>
      </a>
      <IconButton icon="delete" label={words.chat.deleteNamed(thread.title)} onClick={onDelete} />
    </li>
  );
}
