// Names of the components of the server.

import type { Words } from ".";

/** The server names its components in English; models are named by their provider. */
export function componentName(words: Words, name: string): string {
  const provider = /^models of (.+)$/.exec(name)?.[1];
  return provider ? words.status.modelsOf(provider) : (words.status.names[name] ?? name);
}
