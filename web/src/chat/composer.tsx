// The composer. @ completes titles of documents.

import {
  ComposerPrimitive,
  type Unstable_DirectiveFormatter,
  type Unstable_TriggerItem,
  unstable_useLiveCompletionAdapter,
} from "@assistant-ui/react";
import { documents } from "../api/queries";
import type { Assistant } from "../api/schema";
import { useRefocus } from "../ui/focus";
import { Icon } from "../ui/icons";
import { showError } from "../ui/notices";
import { useWords } from "../words";

/** How many documents are suggested. */
const SUGGESTIONS = 8;

/** A mention is @title, with quotation marks if the title has spaces. */
const FORMATTER: Unstable_DirectiveFormatter = {
  serialize: ({ label }) => (/\s/.test(label) ? `@"${label}"` : `@${label}`),
  parse: (text) => [{ kind: "text", text }],
};

/** Shows an error of the suggestions as a notice. */
function report(error: unknown): never {
  showError(error);
  throw error;
}

type ComposerProps = {
  assistant?: Assistant;
  running: boolean;
  /** Whether the turn waits for a reply. */
  interrupted: boolean;
};

export function Composer({ assistant, running, interrupted }: ComposerProps) {
  const words = useWords();
  const corpora = assistant?.metadata.corpora ?? [];
  const corpus = corpora.length === 1 ? corpora[0] : undefined;
  const mention = unstable_useLiveCompletionAdapter({
    cacheKey: corpus,
    fetcher: async (search): Promise<readonly Unstable_TriggerItem[]> => {
      const filter = { search: search || undefined, status: "ready", corpus, sort: "title" };
      const found = await documents(filter, 0, SUGGESTIONS).catch(report);
      return found.documents.map(({ id, title, kind }) => ({
        id,
        type: "document",
        label: title,
        description: kind,
      }));
    },
  });
  return (
    <ComposerPrimitive.Unstable_TriggerPopoverRoot>
      <ComposerPrimitive.Root className="composer card">
        <ComposerPrimitive.Input
          aria-label={interrupted ? words.chat.yourReply : words.chat.yourQuestion}
          placeholder={interrupted ? words.chat.yourReply : words.chat.placeholder}
          autoFocus
          maxRows={10}
          submitMode="enter"
        />
        {running ? (
          <Stop />
        ) : (
          <ComposerPrimitive.Send
            className="button main icon"
            aria-label={interrupted ? words.send : words.chat.ask}
            title={interrupted ? words.send : words.chat.ask}
          >
            <Icon name="send" />
          </ComposerPrimitive.Send>
        )}
        <ComposerPrimitive.Unstable_TriggerPopover
          char="@"
          adapter={mention.adapter}
          isLoading={mention.isLoading}
          className="mentions card"
          aria-label={words.chat.mention}
        >
          <ComposerPrimitive.Unstable_TriggerPopover.Directive formatter={FORMATTER} />
          <ComposerPrimitive.Unstable_TriggerPopoverItems aria-label={words.chat.mention}>
            {(items) =>
              items.length === 0 ? (
                <p className="small soft mentions-none">{mention.isLoading ? words.loading : words.chat.noMention}</p>
              ) : (
                items.map((item, index) => (
                  <ComposerPrimitive.Unstable_TriggerPopoverItem
                    key={item.id}
                    item={item}
                    index={index}
                    className="mention"
                  >
                    <Icon name="documents" size={16} />
                    <span className="clip grow">{item.label}</span>
                    <span className="soft small">{item.description}</span>
                  </ComposerPrimitive.Unstable_TriggerPopoverItem>
                ))
              )
            }
          </ComposerPrimitive.Unstable_TriggerPopoverItems>
        </ComposerPrimitive.Unstable_TriggerPopover>
      </ComposerPrimitive.Root>
    </ComposerPrimitive.Unstable_TriggerPopoverRoot>
  );
}

function Stop() {
  const words = useWords();
  useRefocus(".composer textarea");
  return (
    <ComposerPrimitive.Cancel className="button main icon" aria-label={words.chat.stop} title={words.chat.stop}>
      <Icon name="stop" />
    </ComposerPrimitive.Cancel>
  );
}
