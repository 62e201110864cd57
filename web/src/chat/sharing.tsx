// Sharing a conversation, and reading one that somebody else shares.

import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, body } from "../api/client";
import { names, useMe } from "../api/queries";
import type { Thread } from "../api/schema";
import { address, go } from "../route";
import { attempt } from "../ui/notices";
import { Dialog, IconButton } from "../ui/parts";
import { useWords } from "../words";

/** Whether a conversation is somebody else's, so that it can only be read. */
export function useReadOnly(thread: Thread | undefined): boolean {
  const me = useMe().data;
  return !!(thread?.owner && me && me.role !== "admin" && thread.owner !== me.owner);
}

/** Lets others at the tenant read one's own conversation. */
export function ShareButton({ thread }: { thread: Thread }) {
  const words = useWords();
  const me = useMe().data;
  const [open, setOpen] = useState(false);
  const queries = useQueryClient();
  // Without keys there is nobody to share with.
  if (!thread.owner || thread.owner !== me?.owner) return null;
  const share = async (shared: boolean) => {
    await api.PATCH("/threads/{thread}", { params: { path: { thread: thread.thread_id } }, body: { shared } });
    await queries.invalidateQueries({ queryKey: names.thread(thread.thread_id) });
  };
  return (
    <>
      <IconButton icon="link" label={words.chat.share} aria-pressed={thread.shared} onClick={() => setOpen(true)} />
      <Dialog open={open} onClose={() => setOpen(false)} title={words.chat.share}>
        <p>{words.chat.shareAbout}</p>
        <label className="row">
          <input type="checkbox" checked={thread.shared} onChange={(event) => attempt(share(event.target.checked))} />
          {words.chat.shared}
        </label>
        {thread.shared && (
          <input
            className="field"
            readOnly
            aria-label={words.chat.sharedLink}
            value={location.href}
            onFocus={(event) => event.target.select()}
          />
        )}
      </Dialog>
    </>
  );
}

/** What stands in place of the composer in a conversation of somebody else. */
export function SharedNotice({ thread }: { thread: Thread }) {
  const words = useWords();
  const queries = useQueryClient();
  const copy = async () => {
    const copied = body(
      await api.POST("/threads/{thread}/copy", { params: { path: { thread: thread.thread_id } }, body: {} }),
    );
    await queries.invalidateQueries({ queryKey: names.threads });
    go(address(["chat", copied.thread_id]));
  };
  return (
    <p className="notice row">
      <span className="grow">{words.chat.sharedAbout}</span>
      <button type="button" className="button" onClick={() => attempt(copy())}>
        {words.chat.continueCopy}
      </button>
    </p>
  );
}
