// The conversations behind a figure.

import { TURN_FILTERS, type TurnFilter, useInsightTurns } from "../api/queries";
import { address } from "../route";
import { Icon } from "../ui/icons";
import { Problem, TableFrame, Waiting } from "../ui/parts";
import { useNumbers, useWords } from "../words";
import { AddTurns } from "./datasets";

type TurnsProps = {
  readonly from: number;
  readonly to: number;
  readonly assistant: string | undefined;
  readonly filter: TurnFilter;
  readonly onFilter: (filter: TurnFilter) => void;
};

export function Turns({ from, to, assistant, filter, onFilter }: TurnsProps) {
  const words = useWords();
  const numbers = useNumbers();
  const turns = useInsightTurns({ from, to, assistant, filter });
  return (
    <section className="status-section" aria-label={words.insights.turns}>
      <header className="row insight-filters">
        <h2 className="grow">{words.insights.turns}</h2>
        {TURN_FILTERS.map((name) => (
          <button
            key={name}
            type="button"
            className="button"
            aria-pressed={name === filter}
            onClick={() => onFilter(name)}
          >
            {words.insights.filters[name]}
          </button>
        ))}
      </header>
      {turns.error && <Problem error={turns.error} again={() => turns.refetch()} />}
      {!turns.data && !turns.error && <Waiting label={words.insights.loading} />}
      {turns.data && turns.data.length > 0 && <AddTurns of={{ from, to, assistant, filter }} />}
      {turns.data?.length === 0 && <p className="soft">{words.insights.noTurns}</p>}
      {turns.data && turns.data.length > 0 && (
        <TableFrame label={words.insights.turns} className="card">
          <table className="plain">
            <thead>
              <tr>
                <th scope="col">{words.insights.conversation}</th>
                <th scope="col">{words.insights.assistant}</th>
                <th scope="col">{words.insights.outcome}</th>
                <th scope="col" className="number">
                  {words.insights.time}
                </th>
                <th scope="col">{words.insights.when}</th>
              </tr>
            </thead>
            <tbody>
              {turns.data.map((turn) => (
                <tr key={turn.run_id}>
                  <th scope="row">
                    <a href={address(["chat", turn.thread_id], { open: `trace:${turn.run_id}` })}>
                      {turn.title || turn.thread_id}
                    </a>
                  </th>
                  <td>{turn.assistant}</td>
                  <td>
                    <span className={`chip ${tone(turn.status, turn.outcome)}`}>
                      {turn.status === "done"
                        ? (words.insights.outcomes[turn.outcome ?? ""] ?? turn.outcome ?? turn.status)
                        : (words.insights.statuses[turn.status] ?? turn.status)}
                    </span>
                    {turn.warnings.length > 0 && (
                      <span className="chip fair">
                        {words.insights.warned} {numbers.count(turn.warnings.length)}
                      </span>
                    )}
                    {turn.good > 0 && <Icon name="good" size={16} />}
                    {turn.bad > 0 && <Icon name="bad" size={16} />}
                  </td>
                  <td className="number">{turn.milliseconds == null ? "–" : numbers.time(turn.milliseconds)}</td>
                  <td>{numbers.moment(turn.ended_at)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </TableFrame>
      )}
    </section>
  );
}

function tone(status: string, outcome: string | null | undefined): string {
  if (status === "failed" || outcome === "withheld") return "bad";
  if (outcome === "unanswered") return "fair";
  return outcome === "cited" || outcome === "cached" ? "good" : "";
}
