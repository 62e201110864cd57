// The insights view: what came of many turns, and the conversations behind each figure.

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
