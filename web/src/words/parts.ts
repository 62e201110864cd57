// What the parts of the server are called.

import type { Words } from ".";

/** The server says in English what its parts are called; models are named by who has them. */
export function partWords(words: Words, name: string): string {
  const provider = /^models of (.+)$/.exec(name)?.[1];
  return provider ? words.state.modelsOf(provider) : (words.state.names[name] ?? name);
}
