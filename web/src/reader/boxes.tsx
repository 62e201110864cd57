// Boxes over a page: where the cited words stand, and where what is wrong does.

import type { RefObject } from "react";
import type { Box } from "./box";

type BoxesProps = {
  boxes: readonly Box[];
  wrong: readonly Box[];
  /** The size of the page, in what the boxes are counted in. */
  size: { readonly width: number; readonly height: number };
  /** The first of them, to scroll to. */
  first: RefObject<HTMLDivElement | null>;
};

export function Boxes({ boxes, wrong, size, first }: BoxesProps) {
  const percent = (value: number, of: number) => `${(100 * value) / of}%`;
  return [...boxes, ...wrong].map(([left = 0, top = 0, right = 0, bottom = 0], index) => (
    <div
      key={index}
      ref={index === 0 ? first : undefined}
      className={index < boxes.length ? "box" : "box wrong"}
      style={{
        left: percent(left, size.width),
        top: percent(top, size.height),
        width: percent(right - left, size.width),
        height: percent(bottom - top, size.height),
      }}
    />
  ));
}
