// Problems: navigation during work, a server that was updated or refuses, and more files than are loaded in parallel.

import { readFileSync } from "node:fs";
import { answered, ask, expect, say, test, upload } from "./fixture";
import { CHAPTER, hasChapter } from "./stage";

test("what is being written is there again after looking elsewhere", async ({ page }) => {
  await page.goto("/#/chat");
  const box = page.getByRole("textbox", { name: "Your question" });
  await box.fill("What about lamps that");
  await page.getByRole("link", { name: "Documents" }).click();
  await expect(page).toHaveTitle("Documents · ibid");
  await page.getByRole("link", { name: "Chat" }).click();
  await expect(box).toHaveValue("What about lamps that");
  await page.reload();
  await expect(box).toHaveValue("What about lamps that");
  await ask(page, "What is the rate for halogen lamps?");
  await answered(page);
  await expect(page).toHaveTitle("What is the rate for halogen lamps? · ibid");
  await expect(box).toHaveValue("");
});

test("a question that cannot be asked differently leaves no other version, and is not lost", async ({ page }) => {
  await ask(page, "What is the rate for neon lamps?");
  await answered(page);
  const url = page.url();
  const lines = await page.locator(".threads li").count();
  const refusal = { status: 503, json: { status: 503, detail: "it is busy" } };
  await page.route("**/threads/*/runs", (route) =>
    route.request().method() === "POST" ? route.fulfill(refusal) : route.fallback(),
  );
  await page.getByRole("button", { name: "Edit" }).click();
  await page.getByRole("textbox", { name: "Edit" }).fill("What is the rate for argon lamps?");
  await page.locator(".question-edit").getByRole("button", { name: "Ask" }).click();
  await expect(page.getByText("it is busy")).toBeVisible();
  await expect(page.getByRole("textbox", { name: "Your question" })).toHaveValue("What is the rate for argon lamps?");
  await page.unroute("**/threads/*/runs");
  await page.reload();
  await expect(page).toHaveURL(url);
  await expect(page.locator(".question-text")).toHaveText(["What is the rate for neon lamps?"]);
  await expect(page.getByText(/^\d of \d$/)).toHaveCount(0);
  await expect(page.locator(".threads li")).toHaveCount(lines);
});

test("a part of the page that is missing takes nothing else along, and comes when the page is loaded anew", async ({
  page,
}) => {
  await page.route("**/assets/reader-*.js", (route) => route.abort());
  await ask(page, "What is the rate for sodium lamps?");
  await answered(page);
  await page.getByRole("button", { name: /^Source 1: / }).click();
  const panel = page.getByRole("complementary", { name: "Side panel" });
  await expect(panel).toContainText("Part of this page could not be loaded");
  await expect(page.getByText("their general rate is 2%")).toBeVisible();
  await page.unroute("**/assets/reader-*.js");
  await panel.getByRole("button", { name: "Try again" }).click();
  await expect(page.locator(".box").first()).toBeVisible();
});

test("a number can be opened while the answer is being written, and after it was stopped", async ({ page }) => {
  await ask(page, "Tell me, pointing at the lamps.");
  const number = page.locator(".prose").getByRole("button", { name: /^Source 1: / });
  await number.hover();
  await expect(page.locator(".cite-card")).toBeVisible();
  await number.click();
  await expect(page.locator(".pdf-page[data-page]")).toBeVisible();
  await expect(page.getByText("word159")).toHaveCount(0);
  await page.getByRole("button", { name: "Stop" }).click();
  await expect(page.getByText("stopped early")).toBeVisible();
  await expect(page.getByRole("textbox", { name: "Your question" })).toBeFocused();
  await page.getByRole("button", { name: "Close" }).click();
  await number.click();
  await expect(page.locator(".pdf-page[data-page]")).toBeVisible();
});

test("a conversation that nobody looks at is seen to end", async ({ page }) => {
  await ask(page, "Tell me aside.");
  const line = page.locator(".threads li", { hasText: "Tell me aside." });
  await expect(line.getByRole("img", { name: "Working" })).toBeVisible();
  await page.getByRole("link", { name: "New conversation" }).click();
  await say(page, "…");
  await expect(line.getByRole("img", { name: "Working" })).toBeHidden({ timeout: 30_000 });
});

test("files that wait for their turn outlive a crash, and can be cancelled", async ({ page, stage }) => {
  test.skip(!hasChapter, "it needs documents that take a while");
  const names = ["one.pdf", "two.pdf", "three.pdf", "four.pdf"];
  const files = names.map((name) => ({
    name,
    mimeType: "application/pdf",
    buffer: Buffer.concat([readFileSync(CHAPTER), Buffer.from(`\n%version ${name}\n`)]),
  }));
  await page.goto("/#/documents");
  await upload(page, files);
  const loads = page.getByRole("region", { name: "Uploads" });
  await expect(loads.getByText("uploading")).toHaveCount(0);
  await stage.kill();
  await stage.start();
  await page.reload();
  for (const name of names.toReversed()) await loads.getByRole("button", { name: `Cancel ${name}` }).click();
  await expect(loads.getByText("cancelled")).toHaveCount(4, { timeout: 30_000 });
  for (const name of names) await expect(page.getByRole("link", { name })).toHaveCount(0);
});

test("what could not be sent is sent again", async ({ page }) => {
  await page.route("**/documents", (route) =>
    route.request().method() === "POST" ? route.abort() : route.fallback(),
  );
  await page.goto("/#/documents");
  const text = "The depot opens at six and closes at ten. ".repeat(8);
  await upload(page, [{ name: "depot.md", mimeType: "text/markdown", buffer: Buffer.from(`# Depot\n\n${text}`) }]);
  const loads = page.getByRole("region", { name: "Uploads" });
  await expect(loads.getByText("The server cannot be reached. Is it running?")).toBeVisible();
  await page.unroute("**/documents");
  await loads.getByRole("button", { name: "Retry depot.md" }).click();
  await expect(loads.getByText("ready")).toBeVisible();
});

test("a file that cannot be read, or is there already, is not called ready", async ({ page }) => {
  await page.goto("/#/documents");
  const text = `# Ferry\n\n${"The ferry leaves at five and comes back at eight. ".repeat(8)}`;
  const write = (name: string, text: string) => ({ name, mimeType: "text/plain", buffer: Buffer.from(text) });
  await upload(page, [write("broken.pdf", "%PDF-1.7\nnothing that follows is one")]);
  const line = (name: string) => page.getByRole("region", { name: "Uploads" }).locator("li", { hasText: name });
  await expect(line("broken.pdf").getByText("failed", { exact: true })).toBeVisible();
  await expect(line("broken.pdf").getByRole("alert")).not.toBeEmpty();
  await upload(page, [write("ferry.md", text)]);
  await expect(line("ferry.md").getByText("ready")).toBeVisible();
  await upload(page, [write("ferry.md", text), write("ferry-again.md", text)]);
  await expect(line("ferry.md").getByText("unchanged")).toBeVisible();
  await expect(line("ferry-again.md").getByText("duplicate of another document")).toBeVisible();
});
