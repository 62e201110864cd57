// Parts of the page that are fetched when they are first needed.

import { type ComponentType, lazy } from "react";

/** A part could not be fetched: the server is away, or it was updated and has the part under another name. */
export class PartMissing extends Error {}

export function part<P>(load: () => Promise<ComponentType<P>>) {
  return lazy(async () => {
    try {
      return { default: await load() };
    } catch (cause) {
      throw new PartMissing("a part of the page is missing", { cause });
    }
  });
}
