// The status of the server: components, models, limits, and totals.

import "./status.css";
import { useStatus } from "../api/queries";
import type { Finding } from "../api/schema";
import { Figures } from "../documents/figures";
import { address } from "../route";
import { Icon } from "../ui/icons";
import { Problem, TableFrame, Waiting } from "../ui/parts";
import { useTitle } from "../ui/title";
import { useNumbers, useWords, type Words } from "../words";
import { componentName } from "../words/components";

const TONES = { fine: "good", missing: "", wrong: "bad" } as const;

export function StatusView() {
  const words = useWords();
  const numbers = useNumbers();
  const status = useStatus({ poll: true });
  useTitle(words.status.title);
  return (
    <div className="view">
      <div className="view-inside">
        <header className="row">
          <h1 className="grow">{words.status.title}</h1>
          <button type="button" className="button" disabled={status.isFetching} onClick={() => status.refetch()}>
            <Icon name="retry" size={16} />
            {words.status.refresh}
          </button>
        </header>
        {status.error && <Problem error={status.error} again={() => status.refetch()} />}
        {!status.data && !status.error && <Waiting label={words.status.checking} />}
        {status.data && (
          <>
            <section aria-label={words.status.totals}>
              <Figures figures={status.data.documents}>
                <div>
                  <dt>{words.chat.conversations}</dt>
                  <dd>{numbers.count(status.data.threads)}</dd>
                </div>
              </Figures>
            </section>
            <section className="status-section">
              <h2>{words.status.components}</h2>
              <ul className="card components">
                {status.data.parts.map(({ name, finding }) => (
                  <Component key={name} name={name} finding={finding} />
                ))}
              </ul>
            </section>
            <section className="status-section">
              <h2>{words.status.models}</h2>
              <TableFrame label={words.status.models} className="card">
                <table className="plain">
                  <thead>
                    <tr>
                      <th scope="col">{words.status.name}</th>
                      <th scope="col">{words.status.provider}</th>
                      <th scope="col">{words.status.model}</th>
                      <th scope="col" className="number">
                        {words.status.context}
                      </th>
                      <th scope="col" className="number">
                        {words.status.prices}
                      </th>
                    </tr>
                  </thead>
                  <tbody>
                    {status.data.models.map((model) => (
                      <tr key={model.name}>
                        <th scope="row">{model.name}</th>
                        <td>{model.provider}</td>
                        <td>
                          <code>{model.model}</code>
                        </td>
                        <td className="number">{numbers.count(model.context)}</td>
                        <td className="number">
                          {model.input_price != null && model.output_price != null
                            ? `${numbers.price(model.input_price)} / ${numbers.price(model.output_price)}`
                            : "–"}
                        </td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </TableFrame>
            </section>
            <section className="status-section">
              <h2>{words.status.limits}</h2>
              <TableFrame label={words.status.limits} className="card">
                <table className="plain">
                  <tbody>
                    {Object.entries(status.data.limits).map(([name, value]) => (
                      <tr key={name}>
                        <th scope="row">{limitName(words, name)}</th>
                        <td>
                          <code className="soft">{name}</code>
                        </td>
                        <td className="number">{value === "none" ? words.none : value}</td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </TableFrame>
            </section>
            <p className="small soft">
              ibid {status.data.version} · <a href="/docs">{words.status.api}</a> ·{" "}
              <a href={address(["documents"])}>{words.documents.title}</a>
            </p>
          </>
        )}
      </div>
    </div>
  );
}

function Component({ name, finding }: { name: string; finding: Finding }) {
  const words = useWords();
  return (
    <li>
      <span className={`chip ${TONES[finding.state]}`}>{words.status.findings[finding.state]}</span>
      <span className="component-name">{componentName(words, name)}</span>
      <span className="soft grow">
        {finding.what}
        {finding.state === "wrong" && <span className="component-help">{finding.help}</span>}
      </span>
    </li>
  );
}

function limitName(words: Words, name: string): string {
  const provider = /^providers\.(.+)\.concurrent$/.exec(name)?.[1];
  return provider ? words.status.limitOf(provider) : (words.status.limitNames[name] ?? name);
}
