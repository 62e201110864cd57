// The first minutes: from an empty data folder to a cited answer, in the browser alone.

import { readFileSync } from "node:fs";
import { answered, ask, expect, test as plain } from "./fixture";
import { SAMPLE, Stage } from "./stage";

const test = plain.extend<object, { readonly stage: Stage }>({
  stage: [
    // biome-ignore lint/correctness/noEmptyPattern: it takes no other part
    async ({}, use) => {
      const stage = await Stage.begin([]);
      await use(stage);
      await stage.end();
    },
    { scope: "worker", timeout: 60_000 },
  ],
});

test("an empty folder becomes a cited answer of trade compliance", async ({ page }, info) => {
  const look = (name: string) => page.screenshot({ path: info.outputPath(`${name}.png`) });
  await page.goto("/#/documents");
  await expect(page.getByText("Drop files here, or click to browse")).toBeVisible();
  await look("empty");
  await page
    .getByTestId("files")
    .setInputFiles([{ name: "Chapter_85.pdf", mimeType: "application/pdf", buffer: readFileSync(SAMPLE) }]);
  const dialog = page.getByRole("dialog", { name: "Add 1 file" });
  await dialog.getByRole("combobox", { name: "Corpus" }).selectOption("trade, for Trade compliance");
  await look("dialog");
  await dialog.getByRole("button", { name: "Upload" }).click();
  const loads = page.getByRole("region", { name: "Uploads" });
  await expect(loads.getByText("ready")).toBeVisible({ timeout: 30_000 });
  // The assistant's own table knows what the file is.
  await expect(page.locator("table")).toContainText("hts_schedule");
  await look("loaded");
  await ask(page, "What is the rate for LED lamps?");
  await answered(page);
  const answer = page.locator(".answer").last();
  await expect(answer.locator(".cite, [class*=cite]").first()).toBeVisible();
  await look("answered");
});

test("a new corpus, a type and labels are given in the dialog", async ({ page }) => {
  await page.goto("/#/documents");
  const text = `# Berths\n\n${"Every berth has a number and a keeper. ".repeat(8)}`;
  await page
    .getByTestId("files")
    .setInputFiles([{ name: "berths.md", mimeType: "text/markdown", buffer: Buffer.from(text) }]);
  const dialog = page.getByRole("dialog", { name: "Add 1 file" });
  await dialog.getByRole("combobox", { name: "Corpus" }).selectOption("New corpus…");
  await expect(dialog.getByRole("button", { name: "Upload" })).toBeDisabled();
  await dialog.getByLabel("Name of the new corpus").fill("harbour");
  await dialog.getByRole("combobox", { name: "Type" }).fill("register");
  await dialog.getByRole("button", { name: "Upload" }).click();
  await expect(page.getByRole("region", { name: "Uploads" }).getByText("ready")).toBeVisible({ timeout: 30_000 });
  await page.goto("/#/documents?corpus=harbour&type=register");
  await expect(page.locator("table")).toContainText("Berths");
});
