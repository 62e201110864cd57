// Questions and answers: streaming, stopping, reloading, editing, feedback and export.

import { readFileSync } from "node:fs";
import { accessible, answered, ask, expect, say, test } from "./fixture";

test("an example is asked, its answer streams with a table, and the steps are shown", async ({ page }) => {
  await page.goto("/#/chat");
  await page.getByLabel("Assistant").selectOption("trade-compliance");
  await page.getByRole("button", { name: "What duty applies to LED lamps from China?" }).click();
  await expect(page.getByText("Searching the documents").or(page.getByText("Writing the answer"))).toBeVisible();
  await answered(page);
  await expect(page.getByRole("cell", { name: "8539.52.00" })).toBeVisible();
  await expect(page.getByRole("columnheader", { name: "Article" })).toBeVisible();
  await expect(page.getByRole("link", { name: /What duty applies/ })).toHaveAttribute("aria-current", "page");
  await accessible(page);
});

test("an answer is stopped, and its text so far is kept", async ({ page }) => {
  await ask(page, "Tell me slowly.");
  await expect(page.getByText("word5", { exact: false })).toBeVisible();
  await page.getByRole("button", { name: "Stop" }).click();
  await expect(page.getByText("stopped early")).toBeVisible();
  await expect(page.getByText("word159")).toHaveCount(0);
  await expect(page.getByRole("button", { name: "Ask", exact: true })).toBeVisible();
});

test("a reload in the middle of an answer goes on with it", async ({ page }) => {
  await ask(page, "Tell me slowly, please.");
  await expect(page.getByText("word8", { exact: false })).toBeVisible();
  await page.reload();
  await expect(page.getByText("word8", { exact: false })).toBeVisible();
  await expect(page.getByRole("button", { name: "Stop" })).toBeVisible();
  await expect(page.getByText("word159")).toBeVisible({ timeout: 30_000 });
  await answered(page);
  await expect(page.locator(".prose").last()).toHaveText(/^word0 word1 .* word159$/);
});

test("a server that is killed in the middle of an answer goes on with it", async ({ page, stage }) => {
  await ask(page, "Tell me slowly, once more.");
  await expect(page.getByText("word8", { exact: false })).toBeVisible();
  await stage.kill();
  await expect(page.getByText("Connection lost")).toBeVisible();
  await stage.start();
  await expect(page.getByText("word159")).toBeVisible({ timeout: 40_000 });
  await answered(page);
  await expect(page.locator(".prose").last()).toHaveText(/^word0 word1 .* word159$/);
});

test("an interrupted turn is resumed with a reply, also after a reload", async ({ page }) => {
  await page.goto("/#/chat");
  await page.getByLabel("Assistant").selectOption("rehearsal");
  await say(page, "…");
  const question = page.getByRole("region", { name: "Waiting for your reply" });
  await expect(question).toContainText("What shall I repeat?");
  await expect(page.locator(".threads").getByRole("img", { name: "Waiting for your reply" })).toHaveCount(1);
  await accessible(page);
  await page.reload();
  await expect(question).toContainText("What shall I repeat?");
  await page.getByRole("textbox", { name: "Your reply" }).fill("Lamps and modules.");
  await page.keyboard.press("Enter");
  await answered(page);
  await expect(page.locator(".prose").last()).toHaveText("Lamps and modules.");
  await expect(question).toBeHidden();

  await say(page, "…");
  await question.getByRole("button", { name: "Stop" }).click();
  await expect(question).toBeHidden();
  await expect(page.getByRole("textbox", { name: "Your question" })).toBeFocused();
  await expect(page.locator(".threads").getByRole("img", { name: "Waiting for your reply" })).toHaveCount(0);
});

test("a turn that is over before the page draws again is shown as over", async ({ page }) => {
  await page.goto("/#/chat");
  await page.getByLabel("Assistant").selectOption("rehearsal");
  await say(page, "?");
  await expect(page.getByRole("region", { name: "Waiting for your reply" })).toBeVisible();
  // The next drawing comes when the turn has ended and the reply is confirmed.
  await page.evaluate(() => {
    window.requestAnimationFrame = (draw) => window.setTimeout(() => draw(performance.now()), 2_000);
  });
  await page.route("**/runs", async (route) => {
    const response = await route.fetch();
    await page.waitForTimeout(1_000);
    await route.fulfill({ response });
  });
  await page.getByRole("textbox", { name: "Your reply" }).fill("Lamps and modules.");
  await page.keyboard.press("Enter");
  await answered(page);
  await expect(page.locator(".prose").last()).toHaveText("Lamps and modules.");
});

test("a question is edited and asked again, and the versions stay", async ({ page }) => {
  await ask(page, "What is the rate for lamps?");
  await answered(page);
  const first = page.url();
  await page.getByRole("button", { name: "Edit" }).first().click();
  await page.getByRole("textbox", { name: "Edit" }).fill("What is the rate for LED modules?");
  await page.locator(".question-edit").getByRole("button", { name: "Ask" }).click();
  await expect(page).not.toHaveURL(first);
  await answered(page);
  await expect(page.locator(".question-text")).toHaveText(["What is the rate for LED modules?"]);
  await expect(page.getByText("2 of 2")).toBeVisible();
  await page.getByRole("button", { name: "Previous" }).click();
  await expect(page.locator(".question-text")).toHaveText(["What is the rate for lamps?"]);
  await expect(page).toHaveURL(first);
  await page.getByRole("button", { name: "Regenerate" }).click();
  await expect(page.getByText("3 of 3")).toBeVisible();
  await answered(page);
  // The list shows one entry for all versions.
  await expect(page.locator(".threads li")).toHaveCount(
    new Set(await page.locator(".threads li .clip").allTextContents()).size,
  );
});

test("in a fork, earlier messages keep their citations, and all versions are deleted together", async ({ page }) => {
  await ask(page, "Where are zinc lamps, 8539.52.00?");
  await answered(page);
  await say(page, "And modules?");
  await expect(page.locator(".answer")).toHaveCount(2);
  await answered(page);
  const first = page.url();
  await page.getByRole("button", { name: "Edit" }).last().click();
  await page.getByRole("textbox", { name: "Edit" }).fill("And parts?");
  await page.locator(".question-edit").getByRole("button", { name: "Ask" }).click();
  await expect(page).not.toHaveURL(first);
  await expect(page.locator(".question-text")).toHaveText(["Where are zinc lamps, 8539.52.00?", "And parts?"]);
  await answered(page);
  await page
    .getByRole("button", { name: /^Source 1: .*exact quote/ })
    .first()
    .click();
  await expect(page.locator(".box").first()).toBeVisible();
  await page.getByRole("searchbox", { name: "Search conversations" }).fill("zinc");
  await page.getByRole("button", { name: "Delete “Where are zinc lamps, 8539.52.00?”" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await expect(page.locator(".threads li")).toHaveCount(0);
});

test("how far a model has read is shown, and a source that it does not name", async ({ page }) => {
  await ask(page, "Answer after reading: what is the general rate for LED lamps, 8539.52.00?");
  await expect(page.getByText("The model reads 3,494 tokens")).toBeVisible();
  await expect(page.getByRole("progressbar")).toBeVisible();
  await answered(page);
  await expect(page.getByText("The model reads")).toBeHidden();
  await expect(page.getByRole("region", { name: "Sources" })).toContainText("found by ibid");
  await expect(page.getByRole("region", { name: "Warnings" })).toBeHidden();
});

test("a follow-up is asked, an answer is copied, rated and exported", async ({ page, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await ask(page, "What is the rate for LED lamps?");
  await answered(page);
  await say(page, "And for modules?");
  await expect(page.locator(".answer")).toHaveCount(2);
  await answered(page);
  await page.getByRole("button", { name: "Copy" }).last().click();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toContain("Light-emitting diode (LED) lamps");
  await page.getByRole("button", { name: "Bad answer" }).last().click();
  await page.getByRole("textbox", { name: "Why?" }).fill("It does not name the column.");
  await accessible(page);
  await page.getByRole("button", { name: "Send" }).click();
  await expect(page.getByRole("button", { name: "Bad answer" }).last()).toHaveAttribute("aria-pressed", "true");
  await page.reload();
  await expect(page.getByRole("button", { name: "Bad answer" }).last()).toHaveAttribute("aria-pressed", "true");
  const saving = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export as Markdown" }).click();
  const saved = readFileSync(await (await saving).path(), "utf8");
  expect(saved).toContain("## You\n\nWhat is the rate for LED lamps?");
  expect(saved).toMatch(/- \[1\] .*page \d+ \(exact quote\): “/);
});

test("conversations are searched and deleted", async ({ page }) => {
  await ask(page, "Remember the zeppelin.");
  await answered(page);
  const search = page.getByRole("searchbox", { name: "Search conversations" });
  await search.fill("zeppelin");
  await expect(page.locator(".threads li")).toHaveCount(1);
  await page.getByRole("button", { name: "Delete “Remember the zeppelin.”" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await expect(page.locator(".threads li")).toHaveCount(0);
  await expect(page).toHaveURL(/#\/chat$/);
});

test("with tools, the plan and each call can be expanded", async ({ page }) => {
  await ask(page, "What is the rate for LED lamps?", { mode: "agentic" });
  await answered(page);
  await page.locator(".answer summary", { hasText: "Plan" }).click();
  await expect(page.getByText("Find the heading")).toBeVisible();
  await page.getByRole("button", { name: "Trace" }).click();
  await page
    .getByRole("button", { name: /Using tools/ })
    .last()
    .click();
  await page.locator(".panel summary", { hasText: "search_documents" }).click();
  await expect(page.locator(".panel pre").first()).toContainText("LED lamps 8539.52");
});

test("@ completes the names of documents, with the keyboard alone", async ({ page }) => {
  await page.goto("/#/chat");
  await page.getByLabel("Assistant").selectOption("trade-compliance");
  const box = page
    .getByRole("textbox", { name: "Your question" })
    .or(page.getByRole("combobox", { name: "Your question" }));
  await box.pressSequentially("What says @cha");
  await expect(page.locator(".mention").first()).toBeVisible();
  await page.keyboard.press("Enter");
  await expect(box).toHaveValue(/What says @.*hapter/);
  await page.keyboard.press("Enter");
  await answered(page);
});

test("the page in Spanish", async ({ page }) => {
  await page.goto("/#/chat");
  await page.getByLabel("Language").selectOption("es");
  await expect(page.getByRole("link", { name: "Documentos" })).toBeVisible();
  await expect(page.getByPlaceholder("Haga una pregunta. Escriba @ para mencionar un documento.")).toBeVisible();
  await expect(page.locator("html")).toHaveAttribute("lang", "es");
});
