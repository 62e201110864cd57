// The empty conversation: greeting, examples, and problems of the server with their solutions.

import { useStatus } from "../api/queries";
import type { Assistant } from "../api/schema";
import { useWords } from "../words";
import { componentName } from "../words/components";

export function Welcome({ assistant, say }: { assistant: Assistant; say: (text: string) => Promise<boolean> }) {
  const words = useWords();
  const { greeting, examples } = assistant.metadata;
  return (
    <div className="welcome">
      <div className="welcome-inside">
        <h1>{assistant.name}</h1>
        <p className="soft">{greeting || assistant.description}</p>
        <Problems />
        {examples.length > 0 && (
          <ul className="examples" aria-label={words.chat.examples}>
            {examples.map((example) => (
              <li key={example}>
                <button type="button" className="card example" onClick={() => void say(example)}>
                  {example}
                </button>
              </li>
            ))}
          </ul>
        )}
      </div>
    </div>
  );
}

function Problems() {
  const words = useWords();
  const status = useStatus();
  const wrong = status.data?.parts.flatMap(({ name, finding }) =>
    finding.state === "wrong" ? [{ name, finding }] : [],
  );
  return wrong?.map(({ name, finding: { what, help } }) => (
    <section
      key={name}
      className="notice bad server-problem"
      aria-label={words.status.problem(componentName(words, name))}
    >
      <strong>{words.status.problem(componentName(words, name))}</strong>
      {what && <span>{what}</span>}
      <span>{help}</span>
    </section>
  ));
}
