// Bars over time. Each bar is a button, so that the turns behind it can be listed, also with the keyboard.

import { useNumbers } from "../words";

export type Series = { readonly name: string; readonly tone: string; readonly value: (at: number) => number };

type ChartProps = {
  readonly title: string;
  /** The beginnings of the pieces of time, in seconds since 1970. */
  readonly pieces: readonly number[];
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
  /** Whether the bars stand behind one another, and not on one another. */
  readonly overlaid?: boolean;
  readonly picked: number | undefined;
  readonly onPick: (at: number | undefined) => void;
};

export function Chart({ title, pieces, series, format, overlaid = false, picked, onPick }: ChartProps) {
  const numbers = useNumbers();
  const height = (at: number) => {
    const values = series.map(({ value }) => value(at));
    return overlaid ? Math.max(...values) : values.reduce((sum, value) => sum + value, 0);
  };
  const highest = Math.max(...pieces.map(height), 0);
  const first = pieces.at(0);
  const last = pieces.at(-1);
  return (
    <figure className="card chart">
      <figcaption className="row">
        <h3 className="grow">{title}</h3>
        {series.map(({ name, tone }) => (
          <span key={name} className="small soft chart-name">
            <i className={`chart-tone ${tone}`} aria-hidden="true" />
            {name}
          </span>
        ))}
      </figcaption>
      <div className="chart-highest small soft">{format(highest)}</div>
      <div className="chart-bars">
        {pieces.map((at) => (
          <button
            key={at}
            type="button"
            className={`chart-bar ${overlaid ? "overlaid" : ""}`}
            disabled={height(at) === 0}
            aria-pressed={at === picked}
            aria-label={`${numbers.moment(at * 1000)}: ${series
              .map(({ name, value }) => `${name} ${format(value(at))}`)
              .join(", ")}`}
            title={numbers.moment(at * 1000)}
            onClick={() => onPick(at === picked ? undefined : at)}
          >
            {series.map(({ name, tone, value }) => (
              <span
                key={name}
                className={tone}
                style={{ height: highest > 0 ? `${(100 * value(at)) / highest}%` : 0 }}
              />
            ))}
          </button>
        ))}
      </div>
      <div className="row small soft">
        <span className="grow">{first !== undefined && numbers.moment(first * 1000)}</span>
        <span>{last !== undefined && numbers.moment(last * 1000)}</span>
      </div>
    </figure>
  );
}
