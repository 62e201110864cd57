// What an assistant says before anything was asked.

import type { Assistant } from "../api/schema";
import { useWords } from "../words";

export function Welcome({ assistant, say }: { assistant: Assistant; say: (text: string) => Promise<boolean> }) {
  const words = useWords();
  const { greeting, examples } = assistant.metadata;
  return (
    <div className="welcome">
      <div className="welcome-inside">
        <h1>{assistant.name}</h1>
        <p className="soft">{greeting || assistant.description}</p>
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
