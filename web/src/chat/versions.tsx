// Switches between the versions of a question. Each version is a conversation.

import { address, go } from "../route";
import { IconButton } from "../ui/parts";
import { useWords } from "../words";
import { useConversation } from "./context";
import { versions } from "./family";

export function VersionPicker({ position }: { position: number }) {
  const words = useWords();
  const { thread, family } = useConversation();
  const found = thread && versions(family, thread.thread_id, position);
  if (!found) return null;
  const { threads, current } = found;
  const to = (index: number) => {
    const id = threads[index];
    if (id) go(address(["chat", id]));
  };
  return (
    <fieldset className="versions" aria-label={words.chat.versions}>
      <IconButton icon="left" label={words.previous} disabled={current === 0} onClick={() => to(current - 1)} />
      <span className="small soft">{words.of(current + 1, threads.length)}</span>
      <IconButton
        icon="right"
        label={words.next}
        disabled={current === threads.length - 1}
        onClick={() => to(current + 1)}
      />
    </fieldset>
  );
}
