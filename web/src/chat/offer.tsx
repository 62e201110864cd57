// What an answer offers, shown in its place: options of a catalogue, or instalments. Which it is, the schema of its format says.

import type { AnswerMetadata } from "../api/schema";
import { useConversation } from "./context";
import type { Fields, Schema } from "./field-schema";
import { Instalments, type InstalmentsData, isInstalments } from "./instalments";
import { Options } from "./options";
import "./offer.css";

export type Offer = { readonly format: string; readonly words?: string; readonly fields: Fields };

/** What an answer offers, if it is of a format that is shown in its place. */
export function offerOf(metadata: Partial<AnswerMetadata>): Offer | undefined {
  const fields = metadata.structured as Fields | undefined;
  const { format } = metadata;
  if (!fields || (format !== "options" && format !== "instalments")) return undefined;
  return { format, words: typeof fields.words === "string" ? fields.words : undefined, fields };
}

export function OfferView({ offer: { format, fields }, run }: { offer: Offer; run: string | undefined }) {
  const { assistantOf } = useConversation();
  const assistant = assistantOf(run);
  const schema = assistant?.metadata.format_schemas?.[format] as Schema | undefined;
  if (format === "options") return <Options schema={schema?.properties?.options} fields={fields} />;
  if (!isInstalments(fields) || !assistant) return null;
  return (
    <Instalments
      schema={schema?.properties?.plans}
      initial={fields as InstalmentsData}
      assistant={assistant.assistant_id}
    />
  );
}

/** An amount as it is written where its currency is used. */
export function money(language: string, currency: string | undefined, amount: number): string {
  if (!currency) return new Intl.NumberFormat(language).format(amount);
  const country = currency === "EUR" ? "" : `-${currency.slice(0, 2)}`;
  const digits = Number.isInteger(amount) ? 0 : 2;
  const style = { style: "currency", currency, currencyDisplay: "narrowSymbol" } as const;
  return new Intl.NumberFormat(`${language}${country}`, {
    ...style,
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  }).format(amount);
}
