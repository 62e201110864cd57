// One question to a real, small model. It is weak, so only what the system promises is checked: an answer comes, each
// citation has a mark and opens its page, and unsupported statements have warnings.

import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { test as plain } from "@playwright/test";
import { answered, ask, expect } from "./fixture";
import { freePort, models, root, SAMPLE, Stage } from "./stage";

const test = plain.extend<object, { readonly stage: Stage }>({
  stage: [
    // biome-ignore lint/correctness/noEmptyPattern: it takes no other part
    async ({}, use) => {
      const port = await freePort();
      const model = await served(port);
      const stage = await Stage.begin([SAMPLE], {
        model: `http://127.0.0.1:${port}/v1`,
        // A model this small reads slowly, and does not find an end by itself.
        settings: ["context = 2048", "max_output = 200"],
      });
      await use(stage);
      await stage.end();
      model.kill();
    },
    { scope: "worker", timeout: 180_000 },
  ],
  baseURL: async ({ stage }, use) => use(stage.url),
});

async function served(port: number): Promise<ChildProcess> {
  const script = join(root, "crates/testkit/models/serve.py");
  const model = join(models, "llm/qwen2.5-coder-0.5b.gguf");
  const child = spawn(join(models, "venv/bin/python"), [script, model, String(port)], {
    stdio: ["pipe", "ignore", "ignore"],
  });
  for (let tries = 0; tries < 600; tries += 1) {
    const healthy = await fetch(`http://127.0.0.1:${port}/health`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (healthy) return child;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("the model server does not start");
}

test("a real model answers, and what it says is checked", async ({ page }) => {
  test.setTimeout(300_000);
  await ask(page, "What is the general rate of duty for 8539.52.00, LED lamps?");
  await expect(page.locator(".answer .prose")).toBeVisible({ timeout: 240_000 });
  await expect(page.getByRole("button", { name: "Regenerate" })).toBeVisible({ timeout: 240_000 });
  await answered(page);
  const citations = page.locator(".citation");
  const warnings = page.getByRole("region", { name: "Warnings" });
  await expect(citations.or(warnings).first()).toBeVisible();
  if ((await citations.count()) > 0) {
    await citations.first().click();
    await expect(page.locator(".pdf-page[data-page]")).toBeVisible();
  }
  await page.getByRole("button", { name: "Trace" }).click();
  await expect(page.locator(".trace-summary")).toContainText(/\d+ → \d+ tokens/);
});
