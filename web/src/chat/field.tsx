// A field of an answer in one of its views. A model filled it, so nothing is expected of its value.

import { useState } from "react";
import { Icon } from "../ui/icons";
import { useLanguage } from "../words";
import { useConversation } from "./context";
import {
  type Fields,
  isEmpty,
  isNumeric,
  labelOf,
  objects,
  type Schema,
  texts,
  titleOf,
  viewOf,
} from "./field-schema";

type FieldProps = { id: string; schema: Schema; value: unknown };

export function Field({ id, schema, value }: FieldProps) {
  switch (viewOf(schema)) {
    case "chips":
      return <Chips values={texts(value)} />;
    case "checklist":
      return <Checklist id={id} schema={schema.items} value={value} />;
    case "table":
      return <Table schema={schema.items} rows={objects(value)} />;
    case "facts":
      return <Facts schema={schema} fields={objects(value)[0] ?? {}} />;
    case "warning":
      return <Warnings values={texts(value)} />;
    case "questions":
      return <Questions values={texts(value)} />;
    case "level":
      return <Level schema={schema} value={value} />;
    default:
      return (
        <p className="field-text">
          <Inline schema={schema} value={value} />
        </p>
      );
  }
}

/** A value in a line: a text, an amount, a choice, or several of them. */
function Inline({ schema, value }: { schema: Schema; value: unknown }) {
  const [language] = useLanguage();
  const one = (value: unknown) => {
    if (schema.enum) return labelOf(schema, value, language);
    if (typeof value !== "number") return String(value);
    const currency = schema["x-view"] === "money" ? schema["x-currency"] : undefined;
    const style = currency ? ({ style: "currency", currency } as const) : {};
    return new Intl.NumberFormat(language, style).format(value);
  };
  const shown = Array.isArray(value) ? texts(value).join(", ") : isEmpty(value) ? "" : one(value);
  return <>{shown}</>;
}

function Chips({ values }: { values: readonly string[] }) {
  return (
    <ul className="chips">
      {values.map((value, index) => (
        <li key={index} className={`chip accent ${isCode(value) ? "mono" : ""}`}>
          {value}
        </li>
      ))}
    </ul>
  );
}

/** Digits with points or the like, as in 8539.52.00. */
function isCode(value: string): boolean {
  return /^[\d.\-/]*\d[\d.\-/]*$/.test(value);
}

function Facts({ schema, fields }: { schema: Schema; fields: Fields }) {
  const [language] = useLanguage();
  const facts = Object.entries(schema.properties ?? {}).filter(([name]) => !isEmpty(fields[name]));
  return (
    <table className="facts">
      <tbody>
        {facts.map(([name, field]) => (
          <tr key={name}>
            <th scope="row">{titleOf(name, field, language)}</th>
            <td>
              <Inline schema={field} value={fields[name]} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Table({ schema, rows }: { schema?: Schema; rows: readonly Fields[] }) {
  const [language] = useLanguage();
  const columns = Object.entries(schema?.properties ?? {});
  return (
    <div className="field-table">
      <table className="plain">
        <thead>
          <tr>
            {columns.map(([name, field]) => (
              <th key={name} scope="col" className={isNumeric(field) ? "number" : ""}>
                {titleOf(name, field, language)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {columns.map(([name, field]) => (
                <td key={name} className={isNumeric(field) ? "number" : ""}>
                  <Inline schema={field} value={row[name]} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Warnings({ values }: { values: readonly string[] }) {
  return (
    <ul className="field-warnings">
      {values.map((value, index) => (
        <li key={index} className="notice">
          <Icon name="warning" size={16} />
          {value}
        </li>
      ))}
    </ul>
  );
}

function Questions({ values }: { values: readonly string[] }) {
  const { say } = useConversation();
  return (
    <ul className="follow-ups">
      {values.map((question, index) => (
        <li key={index}>
          <button type="button" className="card example" disabled={!say} onClick={() => void say?.(question)}>
            {question}
          </button>
        </li>
      ))}
    </ul>
  );
}

/** One of several levels, the lowest first. */
function Level({ schema, value }: { schema: Schema; value: unknown }) {
  const [language] = useLanguage();
  const levels = schema.enum ?? [];
  const at = levels.indexOf(value);
  const tone = at < 0 ? "" : at === 0 ? "bad" : at === levels.length - 1 ? "good" : "fair";
  return (
    <p className="level">
      <span aria-hidden="true" className={`level-bar ${tone}`}>
        {levels.map((level, index) => (
          <span key={String(level)} className={index <= at ? "full" : ""} />
        ))}
      </span>
      {labelOf(schema, value, language)}
    </p>
  );
}

/**
 * Items to tick; the ticked ones are stored in this browser. Of an object, the fields without a view name the item, those
 * shown as chips stand beside it, and the others below.
 */
function Checklist({ id, schema, value }: { id: string; schema?: Schema; value: unknown }) {
  const storageKey = `ibid.checked.${id}`;
  const [checked, setChecked] = useState<readonly number[]>(() =>
    JSON.parse(localStorage.getItem(storageKey) ?? "[]"),
  );
  const toggle = (index: number) => {
    const now = checked.includes(index) ? checked.filter((one) => one !== index) : [...checked, index];
    localStorage.setItem(storageKey, JSON.stringify(now));
    setChecked(now);
  };
  const items = (Array.isArray(value) ? value : []).filter((item) => !isEmpty(item));
  return (
    <ul className="checklist">
      {items.map((item, index) => (
        <li key={index}>
          <label>
            <input type="checkbox" checked={checked.includes(index)} onChange={() => toggle(index)} />
            <ChecklistItem schema={schema} item={item} />
          </label>
        </li>
      ))}
    </ul>
  );
}

function ChecklistItem({ schema, item }: { schema?: Schema; item: unknown }) {
  const [fields] = objects(item);
  if (!fields) return <span className="strong">{texts(item)[0]}</span>;
  const of = (wanted: (view: string | undefined) => boolean) =>
    Object.entries(schema?.properties ?? {}).filter(
      ([name, field]) => wanted(field["x-view"]) && !isEmpty(fields[name]),
    );
  const line = ([name, field]: [string, Schema], className: string) => (
    <span key={name} className={className}>
      <Inline schema={field} value={fields[name]} />
    </span>
  );
  return (
    <span>
      {of((view) => view === undefined).map((field) => line(field, "strong"))}
      {of((view) => view === "chips").map((field) => line(field, "chip"))}
      {of((view) => view !== undefined && view !== "chips").map((field) => line(field, "soft small"))}
    </span>
  );
}
