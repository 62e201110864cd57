// The insights view: what came of many turns, and the conversations behind each figure.

import { readFileSync } from "node:fs";
import { accessible, answered, ask, expect, test } from "./fixture";
import { Stage } from "./stage";

test("answers, times, costs and the conversations behind them are shown", async ({ page }) => {
  await page.goto("/#/chat");
  await ask(page, "What is the rate for insights lamps?");
  await page.getByRole("button", { name: "Good answer" }).last().click();
  await page.getByRole("dialog").getByRole("button", { name: "Send" }).click();
  await expect(page.getByRole("button", { name: "Good answer" }).last()).toHaveAttribute("aria-pressed", "true");
  await page.goto("/#/insights");
  const totals = page.getByLabel("Totals");
  await expect(totals.getByText("Answers")).toBeVisible();
  await expect(page.getByRole("row", { name: /trade-compliance/ }).first()).toBeVisible();
  // The latest bar has answers; picking it lists the turns behind it.
  const bars = page.getByRole("region", { name: "Over time" }).getByRole("button", { name: /With citations [1-9]/ });
  await bars.last().click();
  await expect(bars.last()).toHaveAttribute("aria-pressed", "true");
  await page.getByRole("button", { name: "Rated good", exact: true }).click();
  const turn = page.getByRole("main").getByRole("link", { name: "What is the rate for insights lamps?" });
  await expect(turn).toBeVisible();
  await accessible(page);
  if (process.env.IBID_SHOTS)
    await page.screenshot({ path: `${process.env.IBID_SHOTS}/insights.png`, fullPage: true });
  await turn.click();
  await expect(page).toHaveURL(/open=trace/);
  await expect(page.locator(".node.visited")).toHaveCount(3);
});

test("the trace of a turn can be opened after its journal was packed", async ({ browser }) => {
  const stage = await Stage.begin([], { settings: ["[engine]", 'retention = "1s"'] });
  const page = await browser.newPage({ baseURL: stage.url });
  await page.goto("/");
  await ask(page, "Remember this turn.", { assistant: "rehearsal" });
  await answered(page);
  await page.waitForTimeout(4000);
  await page.reload();
  await page.getByRole("button", { name: "Trace" }).click();
  await expect(page.locator(".node.visited")).toHaveCount(2);
  await page.locator(".step").first().click();
  await expect(page.locator(".panel summary code").first()).toBeVisible();
  await page.close();
  await stage.end();
});

test("questions are picked for a dataset, two assistants are compared, and bad answers name their pages", async ({
  page,
}) => {
  await ask(page, "What is the rate for picked lamps?");
  await answered(page);
  await page.getByRole("button", { name: "Add to dataset" }).last().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Dataset").fill("rates");
  await dialog.getByLabel("A right answer says").fill("2%\n8539.52.00");
  await accessible(page);
  if (process.env.IBID_SHOTS) await page.screenshot({ path: `${process.env.IBID_SHOTS}/pick.png` });
  await dialog.getByRole("button", { name: "Add", exact: true }).click();
  await expect(dialog).toHaveCount(0);
  await page.getByRole("button", { name: "Bad answer" }).last().click();
  await dialog.getByRole("textbox").fill("not the newest rate");
  await dialog.getByRole("button", { name: "Send" }).click();
  await expect(page.getByRole("button", { name: "Bad answer" }).last()).toHaveAttribute("aria-pressed", "true");
  await ask(page, "Say something.", { assistant: "rehearsal" });
  await answered(page);
  await page.goto("/#/insights");
  const datasets = page.getByRole("region", { name: "Datasets" });
  await expect(datasets.getByRole("row", { name: /rates\s*1/ })).toBeVisible();
  await expect(page.getByRole("region", { name: "Pages cited by answers rated bad" })).toContainText(
    "not the newest rate",
  );
  const comparison = page.getByRole("region", { name: "Compare two assistants" });
  await expect(comparison.getByRole("row", { name: /^Time/ }).first()).toBeVisible();
  await page.getByRole("button", { name: "Rated bad", exact: true }).click();
  const turns = page.locator("section", { has: page.locator(".insight-filters") });
  await turns.getByRole("textbox", { name: "Dataset" }).fill("bad answers");
  await turns.getByRole("button", { name: "Add these to the dataset" }).click();
  await expect(turns.getByText(/^[1-9]\d* added$/)).toBeVisible();
  await expect(datasets.getByRole("row", { name: /bad answers\s*[1-9]/ })).toBeVisible();
  await accessible(page);
  if (process.env.IBID_SHOTS)
    await page.screenshot({ path: `${process.env.IBID_SHOTS}/compare.png`, fullPage: true });
  const saved = page.waitForEvent("download");
  await datasets.getByRole("button", { name: "Download “rates”" }).click();
  const content = readFileSync(await (await saved).path(), "utf8");
  const item = JSON.parse(content.trim());
  expect(item.question).toBe("What is the rate for picked lamps?");
  expect(item.values).toEqual(["2%", "8539.52.00"]);
  expect(item.pages.length).toBeGreaterThan(0);
  await datasets.getByRole("button", { name: "Delete “bad answers”" }).click();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await expect(datasets.getByRole("row", { name: /bad answers/ })).toHaveCount(0);
});
