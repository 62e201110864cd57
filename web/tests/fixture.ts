// Fixtures: a server with a document, checks of the content security policy and of foreign requests, and helpers to ask.

import AxeBuilder from "@axe-core/playwright";
import { test as base, expect, type Page } from "@playwright/test";
import { CHAPTER, hasChapter, SAMPLE, Stage } from "./stage";

type Own = { readonly safe: undefined };
type Shared = { readonly stage: Stage };

export const test = base.extend<Own, Shared>({
  stage: [
    // biome-ignore lint/correctness/noEmptyPattern: it takes no other part
    async ({}, use) => {
      const stage = await Stage.begin([hasChapter ? CHAPTER : SAMPLE]);
      await use(stage);
      await stage.end();
    },
    { scope: "worker", timeout: 180_000 },
  ],
  baseURL: async ({ stage }, use) => use(stage.url),
  // Whatever a test does, no request leaves the server's own origin, and nothing is refused by the policy.
  safe: [
    async ({ page, stage }, use) => {
      const wrong: string[] = [];
      page.on("request", (request) => {
        const url = new URL(request.url());
        if (["http:", "https:"].includes(url.protocol) && url.origin !== stage.url) wrong.push(`asked ${url}`);
      });
      page.on("pageerror", (error) => wrong.push(`failed: ${error.message}`));
      await page.addInitScript(() => {
        document.addEventListener("securitypolicyviolation", (event) => {
          console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`);
        });
      });
      page.on("console", (message) => {
        if (message.text().startsWith("policy:")) wrong.push(message.text());
      });
      await use(undefined);
      expect(wrong).toEqual([]);
    },
    { auto: true },
  ],
});

export { expect };

type Choice = { assistant?: string; format?: string; mode?: string };

/** Asks an assistant, that for trade compliance unless said otherwise, as a user would. */
export async function ask(page: Page, question: string, { assistant, format, mode }: Choice = {}) {
  await page.goto("/#/chat");
  await page.getByLabel("Assistant").selectOption(assistant ?? "trade-compliance");
  if (mode) await page.getByLabel("Mode").selectOption(mode);
  if (format) await page.getByLabel("Format").selectOption(format);
  await say(page, question);
}

export async function say(page: Page, question: string) {
  await page.getByRole("textbox", { name: "Your question" }).fill(question);
  await page.keyboard.press("Enter");
}

type File = { readonly name: string; readonly mimeType: string; readonly buffer: Buffer };

/** Uploads files from the page of documents, into the corpus that is chosen there unless said otherwise. */
export async function upload(page: Page, files: readonly File[], corpus?: string) {
  await page.getByTestId("files").setInputFiles([...files]);
  if (corpus) await page.getByRole("dialog").getByRole("combobox", { name: "Corpus" }).selectOption(corpus);
  await page.getByRole("button", { name: "Upload", exact: true }).click();
}

/** Waits until the last answer is there, checked and kept. */
export async function answered(page: Page) {
  await expect(page.getByRole("button", { name: "Regenerate" }).last()).toBeVisible();
  await expect(page.locator(".answer").last()).toHaveAttribute("aria-busy", "false");
}

/** No serious fault for those who do not see, or do not use a mouse. */
export async function accessible(page: Page) {
  const { violations } = await new AxeBuilder({ page }).exclude(".textLayer").analyze();
  const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  const faults = serious.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(" | ")}`);
  expect(faults).toEqual([]);
}
