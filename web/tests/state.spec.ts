// How the server is, and who may use it.

import { accessible, expect, test } from "./fixture";

test("what works and what is missing is shown, with models, limits and figures", async ({ page }) => {
  await page.goto("/#/state");
  await expect(page.getByText("use-multilingual-v3-int8 runs")).toBeVisible();
  await expect(page.getByRole("row", { name: /answer test scripted 8,192 0\.5 \$ \/ 1\.5 \$/ })).toBeVisible();
  await expect(page.getByRole("row", { name: /ingest\.largest_mb/ })).toBeVisible();
  await expect(page.getByText("not there").first()).toBeVisible();
  await accessible(page);
});

test("the API is described without leaving the server", async ({ page }) => {
  await page.goto("/#/state");
  await page.getByRole("link", { name: "API" }).click();
  await expect(page).toHaveURL(/\/docs$/);
});
