// Progress of uploads and loads.

import { address } from "../route";
import { useRefocus } from "../ui/focus";
import { attempt } from "../ui/notices";
import { errorText, IconButton } from "../ui/parts";
import { useNumbers, useWords, type Words } from "../words";
import { cancel, clear, isOver, type Load, type State, useLoads } from "./loads";

export function Loads() {
  const loads = useLoads();
  return loads.length > 0 && <List loads={loads} />;
}

function List({ loads }: { loads: readonly Load[] }) {
  const words = useWords();
  const over = loads.filter(isOver).length;
  useRefocus("#main");
  return (
    <section className="card loads" aria-label={words.documents.loads}>
      <header className="row">
        <h2 className="grow">
          {words.documents.loads} <span className="soft small">{words.of(over, loads.length)}</span>
        </h2>
        {over > 0 && (
          <button type="button" className="button bare" onClick={clear}>
            {words.documents.clear}
          </button>
        )}
      </header>
      <ul>
        {loads.map((load) => (
          <Line key={load.id} load={load} />
        ))}
      </ul>
    </section>
  );
}

const TONES: Partial<Record<State, string>> = {
  done: "good",
  unchanged: "good",
  duplicate: "fair",
  empty: "fair",
  failed: "bad",
};

function Line({ load }: { load: Load }) {
  const words = useWords();
  const numbers = useNumbers();
  const tone = TONES[load.state] ?? "";
  const percent = Math.round(100 * (load.part ?? 0));
  return (
    <li>
      <div className="row">
        <span className="grow clip strong small">
          {isOver(load) && load.state !== "stopped" && load.document ? (
            <a href={address(["documents", load.document])}>{load.source}</a>
          ) : (
            load.source
          )}
        </span>
        <span className={`small ${tone ? `found ${tone}` : "soft"}`}>{progressText(words, numbers.count, load)}</span>
        {load.retry && (
          <IconButton icon="retry" label={words.documents.retryNamed(load.source)} onClick={load.retry} />
        )}
        {!isOver(load) && (
          <IconButton
            icon="close"
            label={words.documents.cancelNamed(load.source)}
            onClick={() => attempt(cancel(load))}
          />
        )}
      </div>
      {!isOver(load) && (
        <div
          className="bar"
          role="progressbar"
          aria-label={load.source}
          aria-valuenow={percent}
          aria-valuemin={0}
          aria-valuemax={100}
        >
          <div style={{ width: `${percent}%` }} />
        </div>
      )}
      {load.problem !== undefined && (
        <p className="small found bad" role="alert">
          {errorText(load.problem, words)}
        </p>
      )}
    </li>
  );
}

function progressText(words: Words, count: (value: number) => string, load: Load): string {
  if (load.state === "reading" && load.page && load.pages) return words.pageOf(load.page, load.pages);
  if (load.state === "indexing" && load.chunks !== undefined)
    return words.documents.indexed(load.chunks, count(load.chunks));
  return words.documents.loadStates[load.state];
}
