// Options of a catalogue, as cards or as a table.

import { useState } from "react";
import { Icon } from "../ui/icons";
import { TableFrame } from "../ui/parts";
import { useLanguage, useWords } from "../words";
import { useConversation } from "./context";
import { type Fields, isEmpty, isNumeric, objects, type Schema, titleOf } from "./field-schema";
import { money } from "./offer";

const STORAGE_KEY = "ibid.options";

type Option = { readonly number: number; readonly title: string; readonly picture?: string; readonly values: Fields };

function optionOf(fields: Fields): Option {
  return {
    number: Number(fields.number),
    title: String(fields.title ?? ""),
    picture: typeof fields.picture === "string" ? fields.picture : undefined,
    values: objects(fields.values)[0] ?? {},
  };
}

export function Options({ schema, fields }: { schema: Schema | undefined; fields: Fields }) {
  const words = useWords();
  const [view, setView] = useState(() => localStorage.getItem(STORAGE_KEY) ?? "cards");
  const options = objects(fields.options).map(optionOf);
  const names = schema?.["x-name"] ?? [];
  const columns = Object.entries(schema?.items?.properties?.values?.properties ?? {});
  const choose = (chosen: string) => {
    localStorage.setItem(STORAGE_KEY, chosen);
    setView(chosen);
  };
  return (
    <>
      <Unclear fields={fields} />
      {options.length > 0 && (
        <section className="options" aria-label={words.offer.options}>
          <div className="row">
            <span className="small soft grow">{words.offer.shown(options.length, Number(fields.count))}</span>
            <fieldset className="segments">
              <legend className="hidden">{words.offer.options}</legend>
              {(["cards", "table"] as const).map((name) => (
                <button key={name} type="button" aria-pressed={view === name} onClick={() => choose(name)}>
                  {words.offer[name]}
                </button>
              ))}
            </fieldset>
          </div>
          {view === "table" ? (
            <OptionsTable options={options} columns={columns} />
          ) : (
            <ul className="option-cards">
              {options.map((option) => (
                <OptionCard
                  key={option.number}
                  option={option}
                  columns={columns.filter(([name]) => !names.includes(name))}
                />
              ))}
            </ul>
          )}
        </section>
      )}
    </>
  );
}

type Columns = readonly (readonly [string, Schema])[];

/** Names that a word may mean, to choose from. */
function Unclear({ fields }: { fields: Fields }) {
  const { say } = useConversation();
  const names = objects(fields.unclear).flatMap((unclear) => (Array.isArray(unclear.names) ? unclear.names : []));
  if (names.length === 0) return null;
  return (
    <p className="row option-replies">
      {names.map(String).map((name) => (
        <button key={name} type="button" className="button" disabled={!say} onClick={() => void say?.(name)}>
          {name}
        </button>
      ))}
    </p>
  );
}

function OptionCard({ option, columns }: { option: Option; columns: Columns }) {
  const words = useWords();
  const [language] = useLanguage();
  const { say } = useConversation();
  const price = columns.find(([, field]) => field["x-view"] === "money");
  const facts = columns.filter(([name]) => name !== price?.[0] && !isEmpty(option.values[name]));
  const amount = price && option.values[price[0]];
  return (
    <li className="card option-card">
      <Picture option={option} />
      <div className="option-body">
        <h3>
          <span className="option-number">{option.number}</span>
          {option.title}
        </h3>
        <p className="option-price">
          {price && typeof amount === "number"
            ? money(language, price[1]["x-currency"], amount)
            : words.offer.noPrice}
        </p>
        <ul className="option-facts small">
          {facts.map(([name, field]) => (
            <li key={name} title={titleOf(name, field, language)}>
              <FieldValue field={field} value={option.values[name]} />
            </li>
          ))}
        </ul>
        {typeof amount === "number" && (
          <button
            type="button"
            className="button"
            disabled={!say}
            onClick={() => void say?.(words.offer.askFinance(option.number))}
          >
            {words.offer.finance}
          </button>
        )}
      </div>
    </li>
  );
}

/** The place of a picture. Only pictures of this server are fetched; a file may name any. */
function Picture({ option }: { option: Option }) {
  const words = useWords();
  const own = option.picture?.startsWith("/") && !option.picture.startsWith("//") ? option.picture : undefined;
  const [missing, setMissing] = useState(false);
  if (own && !missing)
    return <img className="option-picture" src={own} alt={option.title} onError={() => setMissing(true)} />;
  return (
    <div className="option-picture" role="img" aria-label={words.offer.noPicture}>
      <Icon name="car" size={44} />
    </div>
  );
}

function FieldValue({ field, value }: { field: Schema; value: unknown }) {
  const [language] = useLanguage();
  if (isEmpty(value)) return <>–</>;
  if (typeof value !== "number" || field["x-view"] === "plain") return <>{String(value)}</>;
  if (field["x-view"] === "money") return <>{money(language, field["x-currency"], value)}</>;
  const unit = field["x-unit"] ? ` ${field["x-unit"]}` : "";
  return (
    <>
      {new Intl.NumberFormat(`${language}-MX`).format(value)}
      {unit}
    </>
  );
}

function OptionsTable({ options, columns }: { options: readonly Option[]; columns: Columns }) {
  const words = useWords();
  const [language] = useLanguage();
  return (
    <TableFrame label={words.offer.table}>
      <table className="plain">
        <thead>
          <tr>
            <th scope="col">#</th>
            {columns.map(([name, field]) => (
              <th key={name} scope="col" className={isNumeric(field) ? "number" : ""}>
                {titleOf(name, field, language)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {options.map((option) => (
            <tr key={option.number}>
              <td>{option.number}</td>
              {columns.map(([name, field]) => (
                <td key={name} className={isNumeric(field) ? "number" : ""}>
                  <FieldValue field={field} value={option.values[name]} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </TableFrame>
  );
}
