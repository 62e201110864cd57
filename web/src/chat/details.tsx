// The fields of a structured answer: codes, agencies, required documents, tariff, risks, follow-up questions. A model
// filled them, so their types are checked.

import type { ReactNode } from "react";
import { useState } from "react";
import { Icon } from "../ui/icons";
import { useWords } from "../words";
import { useConversation } from "./context";
import type { Item } from "./items";

type Fields = Record<string, unknown>;
type AnswerItem = Extract<Item, { kind: "answer" }>;

export function Details({ item }: { item: AnswerItem }) {
  const words = useWords();
  const { say } = useConversation();
  const fields = (item.metadata.structured ?? {}) as Fields;
  const tariff = object(fields.tariff_info);
  const confidence = text(fields.confidence);
  return (
    <div className="details">
      <h2>{words.details.title}</h2>
      {confidence && (
        <Part title={words.details.confidence}>
          <Confidence level={confidence} />
        </Part>
      )}
      <Chips title={words.details.codes} values={texts(fields.hts_codes)} mono />
      <Chips title={words.details.agencies} values={texts(fields.agencies)} />
      <Checklist id={item.id} values={objects(fields.required_documents)} />
      {tariff && Object.keys(tariff).length > 0 && (
        <Part title={words.details.tariff}>
          <table className="facts">
            <tbody>
              <Fact name={words.details.rate} value={text(tariff.duty_rate)} />
              <Fact name={words.details.programs} value={texts(tariff.special_programs).join(", ")} />
              <Fact name={words.details.country} value={text(tariff.country_specific)} />
            </tbody>
          </table>
        </Part>
      )}
      {texts(fields.risk_flags).length > 0 && (
        <Part title={words.details.risks}>
          <ul className="risks">
            {texts(fields.risk_flags).map((risk) => (
              <li key={risk} className="notice">
                <Icon name="warning" size={16} />
                {risk}
              </li>
            ))}
          </ul>
        </Part>
      )}
      {texts(fields.follow_up_questions).length > 0 && (
        <Part title={words.details.next}>
          <ul className="follow-ups">
            {texts(fields.follow_up_questions).map((question) => (
              <li key={question}>
                <button type="button" className="card example" disabled={!say} onClick={() => void say?.(question)}>
                  {question}
                </button>
              </li>
            ))}
          </ul>
        </Part>
      )}
    </div>
  );
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section>
      <h3>{title}</h3>
      {children}
    </section>
  );
}

function Chips({ title, values, mono = false }: { title: string; values: readonly string[]; mono?: boolean }) {
  if (values.length === 0) return null;
  return (
    <Part title={title}>
      <ul className="chips">
        {values.map((value) => (
          <li key={value} className={`chip accent ${mono ? "mono" : ""}`}>
            {value}
          </li>
        ))}
      </ul>
    </Part>
  );
}

function Fact({ name, value }: { name: string; value: string }) {
  if (!value) return null;
  return (
    <tr>
      <th scope="row">{name}</th>
      <td>{value}</td>
    </tr>
  );
}

function Confidence({ level }: { level: string }) {
  const words = useWords();
  const steps = ["low", "medium", "high"];
  const at = steps.indexOf(level);
  const tone = ["bad", "fair", "good"][at] ?? "";
  return (
    <p className="confidence">
      <span aria-hidden="true" className={`confidence-bar ${tone}`}>
        {steps.map((step, index) => (
          <span key={step} className={index <= at ? "full" : ""} />
        ))}
      </span>
      {words.details.levels[level as keyof typeof words.details.levels] ?? level}
    </p>
  );
}

/** Ticked items are stored in this browser. */
function Checklist({ id, values }: { id: string; values: readonly Fields[] }) {
  const words = useWords();
  const storageKey = `ibid.checked.${id}`;
  const [checked, setChecked] = useState<readonly number[]>(() =>
    JSON.parse(localStorage.getItem(storageKey) ?? "[]"),
  );
  if (values.length === 0) return null;
  const toggle = (index: number) => {
    const now = checked.includes(index) ? checked.filter((one) => one !== index) : [...checked, index];
    localStorage.setItem(storageKey, JSON.stringify(now));
    setChecked(now);
  };
  return (
    <Part title={words.details.documents}>
      <ul className="checklist">
        {values.map((value, index) => (
          <li key={index}>
            <label>
              <input type="checkbox" checked={checked.includes(index)} onChange={() => toggle(index)} />
              <span>
                <span className="strong">{text(value.document_name)}</span>
                {text(value.agency) && <span className="chip">{text(value.agency)}</span>}
                {text(value.description) && <span className="soft small">{text(value.description)}</span>}
              </span>
            </label>
          </li>
        ))}
      </ul>
    </Part>
  );
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function texts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one): one is string => typeof one === "string" && one !== "") : [];
}

function object(value: unknown): Fields | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
}

function objects(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.map(object).filter((one) => one !== undefined) : [];
}
