// What the page may weigh, what it may load, and how much it bears.

import { expect, test } from "./fixture";
import { scrolled } from "./scrolling";

test("under 300 KB of compressed scripts come before a PDF is opened", async ({ page }) => {
  let bytes = 0;
  page.on("response", async (response) => {
    if (response.request().resourceType() === "script") bytes += (await response.request().sizes()).responseBodySize;
  });
  await page.goto("/#/chat");
  await expect(page.getByRole("textbox", { name: "Your question" })).toBeVisible();
  await page.goto("/#/documents");
  await expect(page.getByRole("heading", { name: "Documents" })).toBeVisible();
  await page.goto("/#/state");
  await expect(page.getByRole("heading", { name: "Parts" })).toBeVisible();
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
  const { thread_id } = await stage.post("/threads", {});
  const messages = Array.from({ length: 500 }, (_, index) => ({
    role: index % 2 ? "assistant" : "user",
    content:
      index % 2 ? `Answer ${index}: ${"some words that fill a line or two. ".repeat(8)}` : `Question ${index}?`,
  }));
  await stage.post(`/threads/${thread_id}/state`, { values: { messages } });
  await page.goto(`/#/chat/${thread_id}`);
  await expect(page.getByText("Answer 499:")).toBeVisible();
  expect(await page.locator(".messages-one").count()).toBeLessThan(40);
  const frames = await scrolled(page, ".messages", -1);
  console.log(`500 messages: ${JSON.stringify(frames)}`);
  await expect(page.locator(".question-text", { hasText: "Question 0?" })).toBeVisible();
  expect(frames.median).toBeLessThan(50);
});
