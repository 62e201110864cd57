// The details of a structured answer: its fields, shown as the schema of its format says.

import { useLanguage, useWords } from "../words";
import { useConversation } from "./context";
import { Field } from "./field";
import { type Fields, type Schema, shownFields, titleOf } from "./field-schema";
import type { Item } from "./items";

type AnswerItem = Extract<Item, { kind: "answer" }>;

export function Details({ item }: { item: AnswerItem }) {
  const words = useWords();
  const [language] = useLanguage();
  const { assistantOf } = useConversation();
  const schemas = assistantOf(item.run)?.metadata.format_schemas;
  const schema = schemas?.[item.metadata.format ?? ""] as Schema | undefined;
  const fields = shownFields(schema, (item.metadata.structured ?? {}) as Fields);
  return (
    <div className="details">
      <h2>{words.details.title}</h2>
      {fields.length === 0 && <p className="soft small">{words.details.none}</p>}
      {fields.map(([name, field, value]) => (
        <section key={name} title={field.description}>
          <h3>{titleOf(name, field, language)}</h3>
          <Field id={`${item.id}.${name}`} schema={field} value={value} />
        </section>
      ))}
    </div>
  );
}
