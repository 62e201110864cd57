// A question of the user, and its editor.

import { ActionBarPrimitive, ComposerPrimitive, MessagePrimitive } from "@assistant-ui/react";
import { useRefocus } from "../ui/focus";
import { Icon } from "../ui/icons";
import { useWords } from "../words";
import { useItem } from "./item";
import { VersionPicker } from "./versions";

export function Question() {
  const words = useWords();
  const item = useItem();
  return (
    <MessagePrimitive.Root className="question">
      <h2 className="hidden">{words.chat.you}</h2>
      <div className="question-text">{item.text}</div>
      <div className="actions">
        <VersionPicker position={item.position} />
        <ActionBarPrimitive.Edit className="button bare icon" aria-label={words.chat.edit} title={words.chat.edit}>
          <Icon name="edit" />
        </ActionBarPrimitive.Edit>
      </div>
    </MessagePrimitive.Root>
  );
}

export function EditQuestion() {
  const words = useWords();
  useRefocus(".composer textarea");
  return (
    <MessagePrimitive.Root className="question">
      <ComposerPrimitive.Root className="question-edit card">
        <ComposerPrimitive.Input aria-label={words.chat.edit} autoFocus maxRows={12} />
        <div className="row question-edit-bottom">
          <span className="small soft grow">{words.chat.editAbout}</span>
          <ComposerPrimitive.Cancel className="button">{words.cancel}</ComposerPrimitive.Cancel>
          <ComposerPrimitive.Send className="button main">{words.chat.ask}</ComposerPrimitive.Send>
        </div>
      </ComposerPrimitive.Root>
    </MessagePrimitive.Root>
  );
}
