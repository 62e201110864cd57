// What came of many turns: answers, times, costs, warnings and verdicts, over time, by assistant and by model.

import "./insights.css";
import { useState } from "react";
import { type TurnFilter, useInsights } from "../api/queries";
import type { Insights, TurnTotals } from "../api/schema";
import { Problem, TableFrame, Waiting } from "../ui/parts";
import { useTitle } from "../ui/title";
import { useNumbers, useWords } from "../words";
import { Chart, type Series } from "./chart";
import { Comparison, MarkedPassages } from "./comparison";
import { Datasets } from "./datasets";
import { Turns } from "./turns";

const HOUR = 3600;
const PERIODS = { day: 24 * HOUR, week: 7 * 24 * HOUR, month: 30 * 24 * HOUR } as const;
type Period = keyof typeof PERIODS;

export function InsightsView() {
  const words = useWords();
  const [period, setPeriod] = useState<Period>("week");
  const [assistant, setAssistant] = useState<string>();
  const [filter, setFilter] = useState<TurnFilter>("all");
  const [picked, setPicked] = useState<number>();
  /** Now, when the view was opened or the period was chosen, so that the pieces do not move. */
  const [now, setNow] = useState(() => Math.ceil(Date.now() / 1000));
  const from = now - PERIODS[period];
  const insights = useInsights({ from, to: now, assistant });
  useTitle(words.insights.title);
  const choose = (period: Period) => {
    setPeriod(period);
    setPicked(undefined);
    setNow(Math.ceil(Date.now() / 1000));
  };
  const names = Object.keys(insights.data?.by_assistant ?? {});
  const length = insights.data?.bucket_seconds ?? 0;
  return (
    <div className="view">
      <div className="view-inside">
        <header className="row">
          <h1 className="grow">{words.insights.title}</h1>
          <select
            className="field"
            aria-label={words.insights.assistant}
            value={assistant ?? ""}
            onChange={(event) => setAssistant(event.target.value || undefined)}
          >
            <option value="">{words.insights.allAssistants}</option>
            {[...new Set([...names, ...(assistant ? [assistant] : [])])].map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
          <select
            className="field"
            aria-label={words.insights.period}
            value={period}
            onChange={(event) => choose(event.target.value as Period)}
          >
            {(Object.keys(PERIODS) as Period[]).map((name) => (
              <option key={name} value={name}>
                {words.insights.periods[name]}
              </option>
            ))}
          </select>
        </header>
        {insights.error && <Problem error={insights.error} again={() => insights.refetch()} />}
        {!insights.data && !insights.error && <Waiting label={words.insights.loading} />}
        {insights.data && (
          <>
            <Totals totals={insights.data.total} />
            {insights.data.truncated && <p className="small soft">{words.insights.cut}</p>}
            <Charts insights={insights.data} from={from} to={now} picked={picked} onPick={setPicked} />
            <Tables insights={insights.data} />
            <Comparison period={{ from, to: now }} assistants={Object.keys(insights.data.by_assistant)} />
            <MarkedPassages period={{ from, to: now, assistant }} />
            <Turns
              from={Math.max(picked ?? from, from)}
              to={picked === undefined ? now : Math.min(picked + length, now)}
              assistant={assistant}
              filter={filter}
              onFilter={setFilter}
            />
            <Datasets />
          </>
        )}
      </div>
    </div>
  );
}

function Totals({ totals }: { totals: TurnTotals }) {
  const words = useWords();
  const numbers = useNumbers();
  const time = (value: number | null | undefined) => (value == null ? "–" : numbers.time(value));
  const figures: readonly (readonly [string, string])[] = [
    [words.insights.answers, numbers.count(totals.turns)],
    [words.insights.outcomes.unanswered ?? "", numbers.count(totals.unanswered)],
    [words.insights.warned, numbers.count(totals.warned)],
    [words.insights.statuses.failed ?? "", numbers.count(totals.failed)],
    [words.insights.good, numbers.count(totals.good)],
    [words.insights.bad, numbers.count(totals.bad)],
    [words.insights.firstWord, time(totals.first_word_ms)],
    [words.insights.median, time(totals.median_ms)],
    [words.insights.cost, numbers.cost(totals.cost)],
  ];
  return (
    <dl className="figures" aria-label={words.status.totals}>
      {figures.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

type ChartsProps = {
  readonly insights: Insights;
  readonly from: number;
  readonly to: number;
  readonly picked: number | undefined;
  readonly onPick: (at: number | undefined) => void;
};

function Charts({ insights, from, to, picked, onPick }: ChartsProps) {
  const words = useWords();
  const numbers = useNumbers();
  const length = insights.bucket_seconds;
  const pieces: number[] = [];
  for (let at = from - (from % length); at < to; at += length) pieces.push(at);
  const of = (at: number) => insights.over_time[String(at)];
  const series = (name: string, tone: string, value: (totals: TurnTotals) => number): Series => ({
    name,
    tone,
    value: (at) => {
      const totals = of(at);
      return totals ? value(totals) : 0;
    },
  });
  const outcomes = words.insights.outcomes;
  const shared = { pieces, picked, onPick };
  return (
    <section className="charts" aria-label={words.insights.overTime}>
      <Chart
        {...shared}
        title={words.insights.answers}
        format={numbers.count}
        series={[
          series(outcomes.cited ?? "", "tone-good", (totals) => totals.cited + totals.cached),
          series(outcomes.uncited ?? "", "tone-plain", (totals) => totals.uncited),
          series(outcomes.unanswered ?? "", "tone-fair", (totals) => totals.unanswered),
          series(words.insights.wrong, "tone-bad", (totals) => totals.failed + totals.withheld),
        ]}
      />
      <Chart
        {...shared}
        overlaid
        title={words.insights.time}
        format={numbers.time}
        series={[
          series(words.insights.slow, "tone-soft", (totals) => totals.p95_ms ?? 0),
          series(words.insights.median, "tone-accent", (totals) => totals.median_ms ?? 0),
        ]}
      />
      <Chart
        {...shared}
        title={words.insights.cost}
        format={numbers.cost}
        series={[series(words.insights.cost, "tone-accent", (totals) => totals.cost)]}
      />
      <Chart
        {...shared}
        title={words.insights.verdicts}
        format={numbers.count}
        series={[
          series(words.insights.good, "tone-good", (totals) => totals.good),
          series(words.insights.bad, "tone-bad", (totals) => totals.bad),
          series(words.insights.warned, "tone-fair", (totals) => totals.warned),
        ]}
      />
    </section>
  );
}

function Tables({ insights }: { insights: Insights }) {
  const words = useWords();
  const numbers = useNumbers();
  const time = (value: number | null | undefined) => (value == null ? "–" : numbers.time(value));
  const cost = (value: number | null | undefined) => (value == null ? "–" : numbers.cost(value));
  return (
    <>
      <FigureTable
        title={words.insights.byAssistant}
        of={words.insights.assistant}
        entries={insights.by_assistant}
        columns={[
          [words.insights.answers, ({ turns }) => numbers.count(turns)],
          [words.insights.outcomes.unanswered ?? "", ({ unanswered }) => numbers.count(unanswered)],
          [words.insights.warned, ({ warned }) => numbers.count(warned)],
          [words.insights.good, ({ good }) => numbers.count(good)],
          [words.insights.bad, ({ bad }) => numbers.count(bad)],
          [words.insights.median, ({ median_ms }) => time(median_ms)],
          [words.insights.slow, ({ p95_ms }) => time(p95_ms)],
          [words.insights.cost, (totals) => cost(totals.cost)],
        ]}
      />
      <FigureTable
        title={words.insights.byModel}
        of={words.status.model}
        entries={insights.by_model}
        columns={[
          [words.insights.answers, ({ turns }) => numbers.count(turns)],
          [words.insights.tokensRead, ({ input_tokens }) => numbers.count(input_tokens)],
          [words.insights.tokensWritten, ({ output_tokens }) => numbers.count(output_tokens)],
          [words.insights.cost, (totals) => cost(totals.cost)],
        ]}
      />
    </>
  );
}

type FigureTableProps<T> = {
  readonly title: string;
  /** What each row is of. */
  readonly of: string;
  readonly entries: Readonly<Record<string, T>>;
  /** The name of each column, and its figure. */
  readonly columns: readonly (readonly [string, (entry: T) => string])[];
};

function FigureTable<T>({ title, of, entries, columns }: FigureTableProps<T>) {
  return (
    <section className="status-section">
      <h2>{title}</h2>
      <TableFrame label={title} className="card">
        <table className="plain">
          <thead>
            <tr>
              <th scope="col">{of}</th>
              {columns.map(([name]) => (
                <th key={name} scope="col" className="number">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {Object.entries(entries).map(([name, entry]) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                {columns.map(([column, figure]) => (
                  <td key={column} className="number">
                    {figure(entry)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </TableFrame>
    </section>
  );
}
