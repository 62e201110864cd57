// Limits: size of the scripts, content security policy, long conversations.

import { readFileSync } from "node:fs";
import { expect, test } from "./fixture";
import { scrolled } from "./scrolling";
import type { Stage } from "./stage";

test("under 300 KB of compressed scripts come before a PDF is opened", async ({ page }) => {
  let bytes = 0;
  page.on("response", async (response) => {
    if (response.request().resourceType() === "script") bytes += (await response.request().sizes()).responseBodySize;
  });
  await page.goto("/#/chat");
  await expect(page.getByRole("textbox", { name: "Your question" })).toBeVisible();
  await page.goto("/#/documents");
  await expect(page.getByRole("heading", { name: "Documents" })).toBeVisible();
  await page.goto("/#/status");
  await expect(page.getByRole("heading", { name: "Components" })).toBeVisible();
  console.log(`scripts: ${bytes} bytes`);
  expect(bytes).toBeGreaterThan(100_000);
  expect(bytes).toBeLessThan(300_000);
});

test("the policy allows scripts of the page itself only", async ({ page, stage }) => {
  const response = await page.request.get(stage.url);
  const policy = response.headers()["content-security-policy"] ?? "";
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("script-src 'self'");
  expect(policy).not.toContain("unsafe");
});

test("500 messages stay smooth", async ({ page, stage }) => {
  await page.goto(`/#/chat/${await conversation(stage, 500)}`);
  await expect(page.getByText("Answer 499:")).toBeVisible();
  expect(await page.locator(".messages-one").count()).toBeLessThan(40);
  const frames = await scrolled(page, ".messages", -1);
  console.log(`500 messages: ${JSON.stringify(frames)}`);
  await expect(page.locator(".question-text", { hasText: "Question 0?" })).toBeVisible();
  expect(frames.median).toBeLessThan(50);
});

test("the beginning of a very long conversation can be reached, and is part of the export", async ({
  page,
  stage,
}) => {
  await page.goto(`/#/chat/${await conversation(stage, 1_200)}`);
  await expect(page.getByText("Showing the latest 1,000 messages.")).toBeVisible();
  const saved = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export as Markdown" }).click();
  const text = readFileSync(await (await saved).path(), "utf8");
  expect(text).toContain("Question 0?");
  expect(text).toContain("Answer 1199:");

  await page.getByRole("button", { name: "Show older messages" }).click();
  // The message that was first before is still in view, below the older ones.
  await expect(page.locator(".question-text", { hasText: "Question 200?" })).toBeInViewport();
  await expect(page.getByRole("button", { name: "Show older messages" })).toBeHidden();
  await page.locator(".messages").evaluate((box) => box.scrollTo(0, 0));
  await expect(page.locator(".question-text", { hasText: "Question 0?" })).toBeInViewport();
});

/** A conversation of so many messages. */
async function conversation(stage: Stage, count: number): Promise<string> {
  const { thread_id } = await stage.post("/threads", {});
  const messages = Array.from({ length: count }, (_, index) => ({
    role: index % 2 ? "assistant" : "user",
    content:
      index % 2 ? `Answer ${index}: ${"some words that fill a line or two. ".repeat(8)}` : `Question ${index}?`,
  }));
  await stage.post(`/threads/${thread_id}/state`, { values: { messages } });
  return thread_id;
}
