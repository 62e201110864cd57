// How two assistants differ in the turns of some time, and the passages of answers that were marked wrong.

import { useState } from "react";
import { type Period, useComparison, useMarkedPassages } from "../api/queries";
import { address } from "../route";
import { Problem, TableFrame, Waiting } from "../ui/parts";
import { useNumbers, useWords } from "../words";

type ComparisonProps = { readonly period: Period; readonly assistants: readonly string[] };

export function Comparison({ period, assistants }: ComparisonProps) {
  const words = useWords();
  const [chosen, setChosen] = useState<readonly [string, string]>();
  const [one = "", other = ""] = chosen ?? assistants;
  const compared = useComparison({ ...period, assistant: one }, other);
  if (assistants.length < 2) return null;
  const choice = (label: string, value: string, onChoose: (name: string) => void) => (
    <select className="field" aria-label={label} value={value} onChange={(event) => onChoose(event.target.value)}>
      {assistants.map((name) => (
        <option key={name}>{name}</option>
      ))}
    </select>
  );
  return (
    <section className="status-section">
      <header className="row">
        <h2 className="grow">{words.comparison.title}</h2>
        {choice(words.comparison.baseline, one, (name) => setChosen([name, other]))}
        {choice(words.comparison.candidate, other, (name) => setChosen([one, name]))}
      </header>
      <p className="small soft">{words.comparison.about}</p>
      {compared.error && <Problem error={compared.error} again={() => compared.refetch()} />}
      {!compared.data && !compared.error && <Waiting label={words.insights.loading} />}
      {compared.data && (
        <TableFrame label={words.comparison.title} className="card">
          <table className="plain">
            <thead>
              <tr>
                <th scope="col">{words.comparison.metric}</th>
                {[one, other, words.comparison.difference, words.comparison.interval].map((name, at) => (
                  <th key={`${at}-${name}`} scope="col" className="number">
                    {name}
                  </th>
                ))}
                <th scope="col">{words.comparison.verdict}</th>
              </tr>
            </thead>
            <tbody>
              {compared.data.map((metric) => (
                <Row key={metric.metric} of={metric} />
              ))}
            </tbody>
          </table>
        </TableFrame>
      )}
    </section>
  );
}

type Compared = NonNullable<ReturnType<typeof useComparison>["data"]>[number];

function Row({ of }: { of: Compared }) {
  const words = useWords();
  const numbers = useNumbers();
  const shown = (figure: number | null | undefined) => {
    if (figure == null) return "–";
    if (of.metric === "cost") return numbers.cost(figure);
    if (of.metric === "seconds" || of.metric === "first_word") return `${figure.toFixed(2)} s`;
    if (of.metric === "tokens") return numbers.count(Math.round(figure));
    return of.metric.startsWith("unsupported") ? figure.toFixed(2) : `${(figure * 100).toFixed(1)} %`;
  };
  const [low, high] = of.interval ?? [];
  const tone = { better: "good", worse: "bad" }[of.verdict as string] ?? "";
  return (
    <tr>
      <th scope="row">{words.comparison.metrics[of.metric] ?? of.metric}</th>
      <td className="number">{shown(of.baseline)}</td>
      <td className="number">{shown(of.candidate)}</td>
      <td className="number">{shown(of.difference)}</td>
      <td className="number">{of.interval ? `${shown(low)} – ${shown(high)}` : "–"}</td>
      <td>
        {of.verdict !== "inconclusive" && (
          <span className={`chip ${tone}`}>{words.comparison.verdicts[of.verdict]}</span>
        )}
      </td>
    </tr>
  );
}

export function MarkedPassages({ period }: { period: Period }) {
  const words = useWords();
  const numbers = useNumbers();
  const passages = useMarkedPassages(period);
  if (!passages.data?.length) return passages.error ? <Problem error={passages.error} /> : null;
  return (
    <section className="status-section">
      <h2>{words.comparison.marked}</h2>
      <TableFrame label={words.comparison.marked} className="card">
        <table className="plain">
          <thead>
            <tr>
              <th scope="col">{words.comparison.passage}</th>
              <th scope="col" className="number">
                {words.insights.answers}
              </th>
              <th scope="col">{words.comparison.comments}</th>
            </tr>
          </thead>
          <tbody>
            {passages.data.map((passage) => (
              <tr key={`${passage.document_id}-${passage.page}`}>
                <th scope="row">
                  <a href={address(["chat", passage.thread_id], { open: `trace:${passage.run_id}` })}>
                    {passage.title}
                    {passage.page != null && `, ${words.comparison.page(passage.page)}`}
                  </a>
                  <p className="small soft">{passage.snippet}</p>
                </th>
                <td className="number">{numbers.count(passage.answers)}</td>
                <td className="small">{passage.comments.join(" · ")}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </TableFrame>
    </section>
  );
}
