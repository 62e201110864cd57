// Components that are loaded when they are first needed.

import { type ComponentType, lazy } from "react";

/** The code could not be loaded: the server is unreachable, or was updated and its files have other names. */
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
