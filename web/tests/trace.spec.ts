// The trace of a turn, while it runs and afterwards.

import { accessible, answered, ask, expect, test } from "./fixture";

test("the trace follows a running turn, and ends with times, tokens and cost", async ({ page }) => {
  await ask(page, "Tell me slowly.");
  await page.getByRole("button", { name: "Trace" }).click();
  await expect(page.locator(".node.at")).toHaveAccessibleName(/Writing the answer/);
  await page.getByRole("button", { name: "Stop" }).click();
  await expect(page.locator(".node.at")).toHaveCount(0);

  await ask(page, "What is the rate for LED lamps?");
  await answered(page);
  await page.getByRole("button", { name: "Trace" }).click();
  await expect(page.locator(".node.visited")).toHaveCount(3);
  await expect(page.locator(".edge.taken")).toHaveCount(4);
  await expect(page.locator(".trace-summary")).toContainText(/3 steps · .* · 1,200 → 80 tokens · \$0\.00072/);
  await accessible(page);
});

test("each step shows its state update, and a turn can be forked from there", async ({ page }) => {
  await ask(page, "What is the rate for LED lamps?");
  await answered(page);
  await page.getByRole("button", { name: "Trace" }).click();
  await page.locator(".step", { hasText: "Searching the documents" }).click();
  await expect(page.locator(".panel summary code").filter({ hasText: "sources" })).toBeVisible();
  const before = page.url();
  await page.getByRole("button", { name: "Fork from here" }).click();
  await expect(page).not.toHaveURL(before);
  await answered(page);
  await expect(page.getByText("2 of 2")).toBeVisible();
  // The shared step did not run again, so it has no duration.
  await expect(page.locator(".step")).toHaveCount(3);
  await expect(page.locator(".step-time").first()).toBeEmpty();
  await expect(page.locator(".step-time").last()).not.toBeEmpty();
});

test("a node of the graph opens its step with the keyboard", async ({ page }) => {
  await ask(page, "What is the rate for LED lamps?");
  await answered(page);
  await page.getByRole("button", { name: "Trace" }).click();
  await page.locator(".node.visited").first().focus();
  await page.keyboard.press("Enter");
  await expect(page.locator('.step[aria-expanded="true"]')).toHaveCount(1);
});
