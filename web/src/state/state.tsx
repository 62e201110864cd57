// How the server is: what works, what it is set up with, and what it holds.

import "./state.css";
import { useStatus } from "../api/queries";
import type { Finding } from "../api/schema";
import { Figures } from "../documents/figures";
import { address } from "../route";
import { Icon } from "../ui/icons";
import { Problem, TableFrame, Waiting } from "../ui/parts";
import { useTitle } from "../ui/title";
import { useNumbers, useWords, type Words } from "../words";
import { partWords } from "../words/parts";

const TONES = { fine: "good", missing: "", wrong: "bad" } as const;

export function StateView() {
  const words = useWords();
  const numbers = useNumbers();
  const status = useStatus({ again: true });
  useTitle(words.state.title);
  return (
    <div className="view">
      <div className="view-inside">
        <header className="row">
          <h1 className="grow">{words.state.title}</h1>
          <button type="button" className="button" disabled={status.isFetching} onClick={() => status.refetch()}>
            <Icon name="retry" size={16} />
            {words.state.look}
          </button>
        </header>
        {status.error && <Problem error={status.error} again={() => status.refetch()} />}
        {!status.data && !status.error && <Waiting label={words.state.looking} />}
        {status.data && (
          <>
            <section aria-label={words.state.holds}>
              <Figures figures={status.data.documents}>
                <div>
                  <dt>{words.chat.conversations}</dt>
                  <dd>{numbers.count(status.data.threads)}</dd>
                </div>
              </Figures>
            </section>
            <section className="state-part">
              <h2>{words.state.parts}</h2>
              <ul className="card parts">
                {status.data.parts.map(({ name, finding }) => (
                  <Part key={name} name={name} finding={finding} />
                ))}
              </ul>
            </section>
            <section className="state-part">
              <h2>{words.state.models}</h2>
              <TableFrame label={words.state.models} className="card">
                <table className="plain">
                  <thead>
                    <tr>
                      <th scope="col">{words.state.name}</th>
                      <th scope="col">{words.state.provider}</th>
                      <th scope="col">{words.state.model}</th>
                      <th scope="col" className="number">
                        {words.state.context}
                      </th>
                      <th scope="col" className="number">
                        {words.state.prices}
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
            <section className="state-part">
              <h2>{words.state.limits}</h2>
              <TableFrame label={words.state.limits} className="card">
                <table className="plain">
                  <tbody>
                    {Object.entries(status.data.limits).map(([name, value]) => (
                      <tr key={name}>
                        <th scope="row">{limitWords(words, name)}</th>
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
              ibid {status.data.version} · <a href="/docs">{words.state.api}</a> ·{" "}
              <a href={address(["documents"])}>{words.documents.title}</a>
            </p>
          </>
        )}
      </div>
    </div>
  );
}

function Part({ name, finding }: { name: string; finding: Finding }) {
  const words = useWords();
  return (
    <li>
      <span className={`chip ${TONES[finding.state]}`}>{words.state.findings[finding.state]}</span>
      <span className="part-name">{partWords(words, name)}</span>
      <span className="soft grow">
        {finding.what}
        {finding.state === "wrong" && <span className="part-help">{finding.help}</span>}
      </span>
    </li>
  );
}

function limitWords(words: Words, name: string): string {
  const provider = /^providers\.(.+)\.concurrent$/.exec(name)?.[1];
  return provider ? words.state.limitOf(provider) : (words.state.limitNames[name] ?? name);
}
