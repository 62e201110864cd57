// The way that an answer took, while it is taken and afterwards.

import { accessible, answered, ask, expect, test } from "./fixture";

test("the way moves while a turn works, and ends with times, tokens and cost", async ({ page }) => {
  await ask(page, "Tell me slowly.");
  await page.getByRole("button", { name: "The way" }).click();
  await expect(page.locator(".node.at")).toHaveAccessibleName(/Writing the answer/);
  await page.getByRole("button", { name: "Stop" }).click();
  await expect(page.locator(".node.at")).toHaveCount(0);

  await ask(page, "What is the rate for LED lamps?");
  await answered(page);
  await page.getByRole("button", { name: "The way" }).click();
  await expect(page.locator(".node.visited")).toHaveCount(3);
  await expect(page.locator(".edge.taken")).toHaveCount(4);
  await expect(page.locator(".way-sum")).toContainText(/3 steps · .* · 1,200 → 80 tokens · \$0\.00072/);
  await accessible(page);
});

test("each step shows what it changed, and a turn can go on from there in a fork", async ({ page }) => {
  await ask(page, "What is the rate for LED lamps?");
  await answered(page);
  await page.getByRole("button", { name: "The way" }).click();
  await page.locator(".step", { hasText: "Searching the documents" }).click();
  await expect(page.locator(".panel summary code").filter({ hasText: "sources" })).toBeVisible();
  const before = page.url();
  await page.getByRole("button", { name: "Fork from here" }).click();
  await expect(page).not.toHaveURL(before);
  await answered(page);
  await expect(page.getByText("2 of 2")).toBeVisible();
  // The step that is shared was not taken again: it has no time of its own.
  await expect(page.locator(".step")).toHaveCount(3);
  await expect(page.locator(".step-time").first()).toBeEmpty();
  await expect(page.locator(".step-time").last()).not.toBeEmpty();
});

test("a node of the picture opens its step with the keyboard", async ({ page }) => {
  await ask(page, "What is the rate for LED lamps?");
  await answered(page);
  await page.getByRole("button", { name: "The way" }).click();
  await page.locator(".node.visited").first().focus();
  await page.keyboard.press("Enter");
  await expect(page.locator('.step[aria-expanded="true"]')).toHaveCount(1);
});
