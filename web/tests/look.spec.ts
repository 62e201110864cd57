// Screenshots of each view: light, dark, and on a phone. People look at them; the test checks that they can be taken and
// that the views are accessible.

import type { Page } from "@playwright/test";
import { accessible, answered, ask, expect, test } from "./fixture";

const FOLDER = "screenshots";

const LOOKS = [
  { name: "light", colorScheme: "light", viewport: { width: 1380, height: 860 } },
  { name: "dark", colorScheme: "dark", viewport: { width: 1380, height: 860 } },
  { name: "phone", colorScheme: "light", viewport: { width: 390, height: 844 } },
] as const;

for (const { name, colorScheme, viewport } of LOOKS) {
  test.describe(name, () => {
    test.use({ colorScheme, viewport });

    const shot = async (page: Page, view: string) => {
      await page.mouse.move(0, 0);
      await page.waitForTimeout(300);
      await page.screenshot({ path: `${FOLDER}/${view}-${name}.png` });
      await accessible(page);
    };

    test("every view", async ({ page }) => {
      // A dozen views, each checked for accessibility.
      test.setTimeout(150_000);
      await page.goto("/#/chat");
      await page.getByLabel("Assistant").selectOption("trade-compliance");
      await shot(page, "welcome");
      await ask(page, "What is the general rate of duty for LED lamps?");
      await answered(page);
      await shot(page, "answer");
      await page
        .getByRole("button", { name: /^Source 1:/ })
        .first()
        .click();
      await expect(page.locator(".box").first()).toBeVisible();
      await shot(page, "citation");
      await page.getByRole("button", { name: "Close" }).click();
      await page.getByRole("button", { name: "Trace" }).click();
      await expect(page.locator(".node.visited")).toHaveCount(3);
      await shot(page, "trace");
      await ask(page, "What do I need to import LED lamps?", { format: "trade_compliance" });
      await answered(page);
      if (name === "phone") await page.getByRole("button", { name: "Details" }).click();
      await expect(page.locator(".panel").getByText("Entry summary")).toBeVisible();
      await shot(page, "details");
      await page.goto("/#/documents");
      await expect(page.locator("tbody tr").first()).toBeVisible();
      await shot(page, "documents");
      await page
        .locator("table")
        .getByRole("link", { name: /chapter.85/i })
        .first()
        .click();
      await expect(page.locator(".pdf-page[data-page]").or(page.locator(".text-page"))).toBeVisible();
      await shot(page, "document");
      await page.goto("/#/status");
      await expect(page.getByRole("heading", { name: "Components" })).toBeVisible();
      await shot(page, "status");
    });
  });
}
