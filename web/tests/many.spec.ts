// How a long list of documents behaves beside a short one. It takes long to load so many, so it runs when it is asked for:
// `just bench-page`.

import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, type Page, test } from "@playwright/test";
import { type Frames, scrolled } from "./scrolling";
import { Stage } from "./stage";

const COUNT = Number(process.env.IBID_MANY ?? 0);
const FEW = 200;

test("many documents stay as smooth as few", async ({ browser }) => {
  test.skip(COUNT === 0, "IBID_MANY says how many");
  test.setTimeout(7_200_000);
  const few = await measured(await browser.newPage(), FEW);
  const many = await measured(await browser.newPage(), COUNT);
  for (const [name, unit] of [
    ["listed", "ms"],
    ["found", "ms"],
    ["median", "ms a frame"],
    ["p95", "ms a frame"],
  ] as const) {
    const [ours, reference] = [many[name], few[name]];
    const figure = `${COUNT} documents: ${name}, ${unit}; beside ${FEW}`;
    console.log(
      JSON.stringify({ figure, ours, reference, ratio: Math.round((100 * ours) / Math.max(reference, 1)) / 100 }),
    );
  }
  expect(many.rows).toBeLessThan(60);
  expect(many.median).toBeLessThan(50);
});

type Figures = Frames & { readonly listed: number; readonly found: number; readonly rows: number };

async function measured(page: Page, count: number): Promise<Figures> {
  const folder = join(mkdtempSync(join(tmpdir(), "ibid-many-")), "notes");
  mkdirSync(folder);
  for (let number = 0; number < count; number += 1) {
    const text = `Warehouse ${number} opens at seven and closes at nine on every day of the week. `.repeat(4);
    writeFileSync(join(folder, `note-${String(number).padStart(5, "0")}.md`), `# Note ${number}\n\n${text}`);
  }
  const stage = await Stage.begin([folder]);
  const figures = await seen(page, stage.url, count);
  await page.close();
  await stage.end();
  return figures;
}

/** Opens the list, scrolls through it, and searches for a document. */
async function seen(page: Page, url: string, count: number): Promise<Figures> {
  const began = performance.now();
  await page.goto(`${url}/#/documents`);
  await expect(page.getByRole("link", { name: "Note 0", exact: true })).toBeVisible();
  const listed = Math.round(performance.now() - began);
  const rows = await page.locator("tbody tr").count();
  const frames = await scrolled(page, ".list", 1);
  await expect(page.getByRole("link", { name: `Note ${count - 1}`, exact: true })).toBeVisible();
  const typed = performance.now();
  await page.getByRole("searchbox", { name: "Search by title or file name" }).fill("note-00007");
  await expect(page.locator("tbody tr")).toHaveCount(1);
  const found = Math.round(performance.now() - typed);
  return { ...frames, listed, found, rows };
}
