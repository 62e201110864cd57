// A part of a page: left, top, right and bottom, in points.

export type Box = readonly number[];
