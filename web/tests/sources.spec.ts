// Sources: what is followed, what waits for a person, what would be done.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { accessible, expect, test } from "./fixture";
import { Stage } from "./stage";

const rule = (number: number) =>
  `# Rule ${number}\n\nWhoever imports goods of class ${number} keeps the records of them for ${number + 2} years, and shows them to an officer who asks.\n`;

test("a folder is followed, and many deletions wait for a person", async ({ browser }) => {
  const place = mkdtempSync(join(tmpdir(), "ibid-source-"));
  mkdirSync(join(place, "hr"));
  for (let number = 0; number < 8; number++) writeFileSync(join(place, `hr/rule ${number}.md`), rule(number));
  writeFileSync(join(place, "data.bin"), "no document");
  const settings = ["[sources.rules]", `location = ${JSON.stringify(place)}`, 'corpus = "rules"', 'every = "1h"'];
  const stage = await Stage.begin([], { settings });
  const context = await browser.newContext({ baseURL: stage.url });
  const page = await context.newPage();
  await page.goto("/#/documents");
  const sources = page.getByRole("region", { name: "Sources" });
  await expect(sources.getByText("8 files, 8 loaded, 1 left out")).toBeVisible({ timeout: 60_000 });
  await accessible(page);
  // A file more, and it is there without anybody doing anything.
  writeFileSync(join(place, "new rule.md"), rule(9));
  await expect(sources.getByText("9 files, 1 loaded")).toBeVisible({ timeout: 60_000 });
  await expect(page.getByRole("main").getByText("rules/new rule.md")).toBeVisible();

  rmSync(join(place, "hr"), { recursive: true });
  await expect(sources.getByRole("alert")).toContainText("8 documents are gone from the source", { timeout: 60_000 });
  await sources.getByRole("button", { name: "Preview" }).click();
  const preview = page.getByRole("dialog");
  await expect(preview.getByText("Gone: 8")).toBeVisible();
  await expect(preview.getByText("hr/rule 3.md")).toBeVisible();
  await accessible(page);
  if (process.env.IBID_SHOTS) await page.screenshot({ path: `${process.env.IBID_SHOTS}/source-preview.png` });
  await page.keyboard.press("Escape");
  await sources.getByText("History").click();
  await accessible(page);
  if (process.env.IBID_SHOTS)
    await page.screenshot({ path: `${process.env.IBID_SHOTS}/sources.png`, fullPage: true });
  await sources.getByRole("button", { name: "Delete 8 documents…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
  await expect(sources.getByText("1 file, 8 deleted")).toBeVisible({ timeout: 60_000 });
  await context.close();
  await stage.end();
  rmSync(place, { recursive: true });
});
