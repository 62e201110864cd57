// How smoothly something scrolls.

import type { Page } from "@playwright/test";

export type Frames = {
  readonly frames: number;
  readonly median: number;
  readonly p95: number;
  readonly worst: number;
};

/** Scrolls from one end to the other, one step per frame, and returns the duration of the frames in milliseconds. */
export function scrolled(page: Page, selector: string, direction: 1 | -1): Promise<Frames> {
  return page.evaluate(
    async ({ selector, direction }) => {
      const box = document.querySelector(selector);
      if (!box) throw new Error(`there is no ${selector}`);
      const times: number[] = [];
      const step = Math.max(box.scrollHeight / 120, 400);
      let last = performance.now();
      for (let count = 0; count < 600; count += 1) {
        box.scrollTop += direction * step;
        await new Promise(requestAnimationFrame);
        const now = performance.now();
        times.push(now - last);
        last = now;
        const below = box.scrollHeight - box.scrollTop - box.clientHeight;
        if (direction < 0 ? box.scrollTop <= 0 : below < 1) break;
      }
      times.sort((a, b) => a - b);
      const at = (part: number) => Math.round(times[Math.floor(times.length * part)] ?? 0);
      return { frames: times.length, median: at(0.5), p95: at(0.95), worst: Math.round(times.at(-1) ?? 0) };
    },
    { selector, direction },
  );
}
