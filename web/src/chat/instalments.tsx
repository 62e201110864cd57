// Instalments: one term large, the others beside it. The sliders have the server work them out again; nothing is computed here.

import { useEffect, useId, useRef, useState } from "react";
import { api } from "../api/client";
import { TableFrame } from "../ui/parts";
import { useLanguage, useWords } from "../words";
import type { Fields, Schema } from "./field-schema";
import { titleOf } from "./field-schema";
import { money } from "./offer";

/** Sliders are followed after this time without a move. */
const PAUSE = 150;
/** A down payment moves in steps of so many parts of the price. */
const STEPS = 200;

export type Plan = {
  readonly months: number;
  readonly instalment: number;
  readonly last_instalment: number;
  readonly total: number;
  readonly interest: number;
};

export type InstalmentsData = Fields & {
  readonly title: string;
  readonly price: number;
  readonly currency: string;
  readonly down_payment: number;
  readonly least_down_payment: number;
  readonly financed: number;
  readonly yearly_rate_percent: number;
  readonly month_range: readonly [number, number];
  readonly plans: readonly Plan[];
};

export function isInstalments(fields: Fields): fields is InstalmentsData {
  return typeof fields.price === "number" && Array.isArray(fields.plans) && fields.plans.length > 0;
}

type InstalmentsProps = { schema: Schema | undefined; initial: InstalmentsData; assistant: string };

export function Instalments({ schema, initial, assistant }: InstalmentsProps) {
  const words = useWords();
  const [language] = useLanguage();
  const [paid, setPaid] = useState(initial.down_payment);
  const [months, setMonths] = useState(() => initial.plans[Math.min(1, initial.plans.length - 1)]?.months ?? 48);
  const { data, state } = useRecomputed(initial, assistant, schema?.["x-tool"] ?? "", paid, months);
  const amount = (value: number) => money(language, data.currency, value);
  const plan = data.plans.find((one) => one.months === months) ?? data.plans[0];
  const [least, most] = data.month_range;
  const step = Math.max(1, Math.round(data.price / STEPS / 500) * 500);
  return (
    <section className="instalments card" aria-label={words.offer.instalments}>
      <header>
        <h3>{data.title}</h3>
        <p className="small soft">
          {words.offer.price} {amount(data.price)} · {words.offer.rate} {data.yearly_rate_percent} %
        </p>
      </header>
      {plan && (
        <p className="instalment-large" aria-live="polite" aria-busy={state === "working"}>
          <strong>{amount(plan.instalment)}</strong> <span className="soft">{words.offer.aMonth}</span>
          <span className="small soft instalment-financed">
            {words.offer.financed} {amount(data.financed)}
          </span>
        </p>
      )}
      <Slider
        label={words.offer.downPayment}
        value={paid}
        shown={amount(paid)}
        least={data.least_down_payment}
        most={Math.max(data.least_down_payment, Math.floor(data.price * 0.9))}
        step={step}
        change={setPaid}
      />
      <Slider
        label={words.offer.term}
        value={months}
        shown={words.offer.months(months)}
        least={least}
        most={most}
        step={1}
        change={setMonths}
      />
      {state === "failed" && (
        <p className="notice bad" role="alert">
          {words.offer.failed}
        </p>
      )}
      <PlanTable schema={schema} plans={data.plans} chosen={plan?.months} amount={amount} />
    </section>
  );
}

type SliderProps = {
  label: string;
  value: number;
  shown: string;
  least: number;
  most: number;
  step: number;
  change: (value: number) => void;
};

function Slider({ label, value, shown, least, most, step, change }: SliderProps) {
  const id = useId();
  // A slider stops at whole steps, and the ends are none.
  const within = (moved: number) => Math.min(most, Math.max(least, moved));
  return (
    <div className="slider">
      <label htmlFor={id} className="small">
        {label}
      </label>
      <output htmlFor={id}>{shown}</output>
      <input
        id={id}
        type="range"
        min={Math.floor(least / step) * step}
        max={Math.ceil(most / step) * step}
        step={step}
        value={value}
        aria-valuetext={shown}
        onChange={(event) => change(within(Number(event.target.value)))}
      />
    </div>
  );
}

type State = "done" | "working" | "failed";

/** The instalments for what the sliders say, as the server works them out. */
function useRecomputed(initial: InstalmentsData, assistant: string, tool: string, paid: number, months: number) {
  const [data, setData] = useState(initial);
  const [state, setState] = useState<State>("done");
  const asked = useRef(`${initial.down_payment}/${initial.plans.map((plan) => plan.months)}`);
  const terms = [...new Set([...initial.plans.map((plan) => plan.months), months])].sort((a, b) => a - b);
  const key = `${paid}/${terms}`;
  useEffect(() => {
    if (asked.current === key) return;
    let stale = false;
    setState("working");
    const timer = setTimeout(async () => {
      try {
        const response = await api.POST("/assistants/{assistant}/tools/{tool}", {
          params: { path: { assistant, tool } },
          body: { price: initial.price, down_payment: paid, months: key.split("/")[1]?.split(",").map(Number) },
        });
        if (stale) return;
        asked.current = key;
        setData((known) => ({ ...known, ...(response.data as object), title: initial.title }) as InstalmentsData);
        setState("done");
      } catch {
        if (!stale) setState("failed");
      }
    }, PAUSE);
    return () => {
      stale = true;
      clearTimeout(timer);
    };
  }, [key, paid, assistant, tool, initial]);
  return { data, state };
}

type PlanTableProps = {
  schema: Schema | undefined;
  plans: readonly Plan[];
  chosen: number | undefined;
  amount: (value: number) => string;
};

function PlanTable({ schema, plans, chosen, amount }: PlanTableProps) {
  const words = useWords();
  const [language] = useLanguage();
  const columns = Object.entries(schema?.items?.properties ?? {});
  return (
    <TableFrame label={words.offer.terms}>
      <table className="plain">
        <thead>
          <tr>
            {columns.map(([name, field]) => (
              <th key={name} scope="col" className="number">
                {titleOf(name, field, language)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {plans.map((plan) => (
            <tr key={plan.months} aria-current={plan.months === chosen}>
              {columns.map(([name, field]) => {
                const value = plan[name as keyof Plan];
                return (
                  <td key={name} className="number">
                    {field["x-view"] === "money" ? amount(value) : value}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </TableFrame>
  );
}
