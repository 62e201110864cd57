// Citations of office files: the place in the words of their format, and the cited words marked.

import { join } from "node:path";
import { accessible, answered, ask, expect, test } from "./fixture";
import { root } from "./stage";

const file = (name: string) => join(root, "web/tests/files", name);

test.beforeAll(async ({ stage }) => {
  for (const name of ["retention.docx", "fees.xlsx"])
    stage.run("ingest", file(name), "--assistant", "trade-compliance");
});

test("a citation of a Word document names heading and paragraph, and marks the words", async ({ page }) => {
  await ask(page, "How long are import records kept?");
  await answered(page);
  const cite = page.getByRole("button", { name: /Source \d: .*Records, paragraph 2, exact quote/ }).first();
  await cite.click();
  const marked = page.locator(".text-page mark");
  await expect(marked).toHaveText("for five years from the date of entry");
  await expect(marked).toBeInViewport();
  if (process.env.IBID_SHOTS) await page.screenshot({ path: `${process.env.IBID_SHOTS}/word.png` });
  await accessible(page);
});

test("a citation of a workbook names sheet and cells, and marks the row", async ({ page }) => {
  await ask(page, "What is the storage fee of a cold pallet?");
  await answered(page);
  const cite = page.getByRole("button", { name: /Source \d: .*sheet fees, A5:C5, exact quote/ }).first();
  await cite.click();
  const marked = page.locator(".text-table tr.marked");
  await expect(marked).toHaveCount(1);
  await expect(marked.locator("td")).toHaveText(["Storage of a cold pallet", "month", "6.2"]);
  await expect(page.locator(".text-table th")).toHaveText(["Service", "Unit", "Fee in EUR"]);
  if (process.env.IBID_SHOTS) await page.screenshot({ path: `${process.env.IBID_SHOTS}/sheet.png` });
  await accessible(page);
});
