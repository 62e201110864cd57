// Documents: upload, progress, pages, filters, replacement, deletion.

import { readFileSync } from "node:fs";
import { accessible, answered, expect, say, test, upload } from "./fixture";
import { CHAPTER, hasChapter, SAMPLE } from "./stage";

test("a PDF that is dropped is loaded page by page, and its ledger stands beside its pages", async ({ page }) => {
  await page.goto("/#/documents");
  const bytes = readFileSync(SAMPLE).toString("base64");
  const transfer = await page.evaluateHandle((base64) => {
    const transfer = new DataTransfer();
    const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
    transfer.items.add(new File([bytes], "dropped.pdf", { type: "application/pdf" }));
    return transfer;
  }, bytes);
  const view = page.getByRole("region", { name: "Documents", exact: true });
  await view.dispatchEvent("dragover", { dataTransfer: transfer });
  await expect(page.getByText("Drop to upload")).toBeVisible();
  await view.dispatchEvent("drop", { dataTransfer: transfer });
  await accessible(page);
  await page.getByRole("button", { name: "Upload", exact: true }).click();
  const loads = page.getByRole("region", { name: "Uploads" });
  await expect(loads.getByText("ready")).toBeVisible({ timeout: 30_000 });
  await accessible(page);
  await loads.getByRole("link", { name: "dropped.pdf" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "dropped.pdf" })).toBeVisible();
  await expect(page.getByText("Table 2")).toBeVisible();
  await expect(page.locator('.pdf-page[data-page="1"]')).toBeVisible();
  await page.getByRole("button", { name: /^2 Table/ }).click();
  await expect(page.locator('.pdf-page[data-page="2"]')).toBeVisible();
  await expect(page).toHaveURL(/page=2/);
  await accessible(page);
});

test("progress is shown page by page, and a load can be cancelled", async ({ page }) => {
  test.skip(!hasChapter, "it needs a document that takes a while");
  await page.goto("/#/documents");
  const buffer = Buffer.concat([readFileSync(CHAPTER), Buffer.from("\n%another version\n")]);
  await upload(page, [{ name: "long.pdf", mimeType: "application/pdf", buffer }]);
  const loads = page.getByRole("region", { name: "Uploads" });
  await expect(loads.getByText(/Page \d+ of 88/)).toBeVisible({ timeout: 30_000 });
  await expect(loads.getByRole("progressbar", { name: "long.pdf" })).toBeVisible();
  await page.getByRole("button", { name: "Cancel long.pdf" }).click();
  await expect(loads.getByText("cancelled")).toBeVisible();
  await page.getByRole("button", { name: "Clear" }).click();
  await expect(loads).toHaveCount(0);
  await expect(page.getByRole("link", { name: "long.pdf" })).toHaveCount(0);
});

test("documents are filtered, replaced and deleted", async ({ page }) => {
  await page.goto("/#/documents?corpus=notes");
  const write = (name: string, text: string) => ({ name, mimeType: "text/markdown", buffer: Buffer.from(text) });
  const long = "The warehouse opens at seven and closes at nine. ".repeat(8);
  await page.goto("/#/documents");
  await upload(page, [
    write("opening-hours.md", `# Opening hours\n\n${long}`),
    write("holidays.md", `# Holidays\n\n${long.replaceAll("warehouse", "office")}`),
  ]);
  const loads = page.getByRole("region", { name: "Uploads" });
  await expect(loads.getByText("ready")).toHaveCount(2, { timeout: 30_000 });
  await page.getByRole("searchbox", { name: "Search by title or file name" }).fill("opening");
  await expect(
    page.locator("table tbody tr:not([style*='height: 0'])").filter({ hasText: "opening-hours.md" }),
  ).toHaveCount(1);
  await expect(page.getByText("holidays.md").filter({ visible: true })).toHaveCount(1); // in the list of loads only
  await page.locator("table").getByRole("link").first().click();
  await expect(page.locator(".text-page")).toContainText("warehouse opens at seven");
  await page
    .getByTestId("replacement")
    .setInputFiles(write("newer.md", `# Opening hours\n\n${long.replaceAll("seven", "six")}`));
  await expect(page.locator(".text-page")).toContainText("warehouse opens at six", { timeout: 30_000 });
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await expect(page).toHaveURL(/#\/documents$/);
  await page.getByRole("searchbox", { name: "Search by title or file name" }).fill("opening");
  await expect(page.getByText("No documents match.")).toBeVisible();
});

test("a URL that the configuration does not allow is refused with the reason", async ({ page }) => {
  await page.goto("/#/documents");
  await page.getByRole("button", { name: "Add from URL" }).click();
  await page.getByRole("textbox", { name: "URLs" }).fill("https://elsewhere.example/tariff.pdf");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  const loads = page.getByRole("region", { name: "Uploads" });
  await expect(loads.getByRole("alert")).toContainText("ingest.hosts");
});

test("a conversation is limited to one document, and to all again", async ({ page }) => {
  await page.goto("/#/documents");
  await page
    .locator("table")
    .getByRole("link", { name: /chapter.85/i })
    .first()
    .click();
  await page.getByRole("link", { name: "Ask this document" }).click();
  await expect(page.getByLabel("Assistant")).toHaveValue("trade-compliance");
  await expect(page.locator(".pinned")).toContainText(/Only from .*chapter.85/i);
  await accessible(page);
  const [limited] = await Promise.all([page.waitForRequest(/\/runs$/), say(page, "What is the rate for LED lamps?")]);
  expect(limited.postDataJSON().context.documents).toHaveLength(1);
  await answered(page);
  await page.reload();
  await expect(page.locator(".pinned")).toBeVisible();
  await page.getByRole("button", { name: "Answer from all documents" }).click();
  await expect(page.locator(".pinned")).toBeHidden();
  const [all] = await Promise.all([page.waitForRequest(/\/runs$/), say(page, "And for modules?")]);
  expect(all.postDataJSON().context.documents).toBeUndefined();
  await answered(page);
});
