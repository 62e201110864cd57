// The status page, and access with an API key.

import { createHash } from "node:crypto";
import { accessible, expect, test } from "./fixture";
import { Stage } from "./stage";

test("what works and what is missing is shown, with models, limits and figures", async ({ page }) => {
  await page.goto("/#/status");
  await expect(page.getByText("use-multilingual-v3-int8 runs")).toBeVisible();
  await expect(page.getByRole("row", { name: /answer test scripted 8,192 \$0\.50 \/ \$1\.50/ })).toBeVisible();
  await expect(page.getByRole("row", { name: /ingest\.largest_mb/ })).toBeVisible();
  await expect(page.getByText("not set up").first()).toBeVisible();
  await accessible(page);
});

test("the API is described without leaving the server", async ({ page }) => {
  await page.goto("/#/status");
  await page.getByRole("link", { name: "API" }).click();
  await expect(page).toHaveURL(/\/docs$/);
});

test("a server with keys asks for one, and keeps it in the browser", async ({ browser }) => {
  const hash = createHash("sha256").update("ibid_desk").digest("hex");
  const keys = ["[serve.keys.desk]", `sha256 = "${hash}"`, 'tenant = "acme"'];
  const stage = await Stage.begin([], { settings: keys });
  const page = await browser.newPage({ baseURL: stage.url });
  await page.goto("/");
  const box = page.getByLabel("API key", { exact: true }).and(page.locator("input"));
  await box.fill("ibid_wrong");
  await page.getByRole("button", { name: "Save" }).click();
  await box.fill("ibid_desk");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByLabel("Assistant")).toBeVisible();
  await page.reload();
  await expect(page.getByLabel("Assistant")).toBeVisible();
  // It can be forgotten; and who puts it off is asked again at the next try.
  await page.getByRole("button", { name: "API key" }).click();
  await page.getByRole("button", { name: "Remove the key from this browser" }).click();
  await expect(box).toBeVisible();
  await page.waitForLoadState("networkidle");
  await page.keyboard.press("Escape");
  await expect(box).toBeHidden();
  await page.getByRole("button", { name: "Try again" }).first().click();
  await expect(box).toBeVisible();
  await page.close();
  await stage.end();
});

test("without a chat model, the first view says what to do", async ({ browser }) => {
  const stage = await Stage.begin([], { model: null });
  const context = await browser.newContext({ baseURL: stage.url });
  const page = await context.newPage();
  await page.goto("/");
  const problem = page.getByRole("region", { name: "Problem: assistants" });
  await expect(problem).toContainText(
    "default, fintech, incident-desk, policy-desk, research, trade-compliance cannot answer",
  );
  await expect(problem).toContainText("[models.answer]");
  await accessible(page);
  await page.goto("/#/status");
  await expect(page.getByText("there is no chat model", { exact: false })).toBeVisible();
  await context.close();
  await stage.end();
});
