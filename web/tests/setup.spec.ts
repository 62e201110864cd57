// The first start in an empty folder: models are chosen in the browser, the server opens, and answers with a citation.

import { cpSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { accessible, answered, ask, expect, test as plain, upload } from "./fixture";
import { REPLICAS } from "./replicas";
import { models, SAMPLE, Stage } from "./stage";

const test = plain.extend<object, { readonly stage: Stage }>({
  stage: [
    // biome-ignore lint/correctness/noEmptyPattern: it takes no other part
    async ({}, use) => {
      const stage = await Stage.first();
      await use(stage);
      await stage.end();
    },
    { scope: "worker", timeout: 60_000 },
  ],
});

test.skip(REPLICAS > 1, "several servers are set up beforehand");

test("an empty folder is set up in the browser and answers with a citation", async ({ page, stage }, info) => {
  const began = Date.now();
  const look = (name: string) => page.screenshot({ path: info.outputPath(`${name}.png`), fullPage: true });
  await page.goto("/");
  await expect(page.getByRole("heading", { name: "Set up ibid" })).toBeVisible();
  const step = (title: string) =>
    page.getByRole("listitem").filter({ has: page.getByRole("heading", { name: title }) });
  const chat = step("Chat model");
  // What runs on this machine comes first.
  await expect(chat.getByLabel("Provider")).toHaveValue("ollama");
  await expect(chat.getByLabel("Model", { exact: true })).toHaveValue("scripted");
  await expect(page.getByRole("button", { name: "Open ibid" })).toBeDisabled();
  await accessible(page);
  await look("found");

  // A key that is wrong, or a server that is not there, is said before anything is written.
  await chat.getByLabel("Provider").selectOption("Another server…");
  await chat.getByLabel("Base URL").fill("http://127.0.0.1:9/v1");
  await chat.getByLabel("Model", { exact: true }).fill("qwen");
  await chat.getByRole("button", { name: "Try it" }).click();
  await expect(chat.getByRole("alert")).toBeVisible();
  await look("not reached");

  // Another server, with a key, which stays its owner's.
  await chat.getByLabel("Base URL").fill(stage.model.url);
  await chat.getByLabel("Model", { exact: true }).fill("scripted");
  await chat.getByRole("textbox", { name: "API key" }).fill("sk-secret");
  await chat.getByRole("button", { name: "Try it" }).click();
  await expect(chat.getByText("It answered in")).toBeVisible();
  await look("tried");
  await chat.getByRole("button", { name: "Use this model" }).click();
  await expect(chat.getByText("scripted, mine.")).toBeVisible();
  const written = readFileSync(join(stage.folder, "ibid.toml"), "utf8");
  expect(written).toContain('model = "scripted"');
  expect(written).not.toContain("sk-secret");
  const key = join(stage.folder, "ibid-data/keys/mine");
  expect(readFileSync(key, "utf8")).toBe("sk-secret\n");
  expect(statSync(key).mode & 0o777).toBe(0o600);

  // Without a network, the embedding model comes from another machine.
  const local = step("Search model");
  await local.getByRole("button", { name: "Download (135 MB)" }).click();
  await expect(local.getByRole("alert")).toContainText("copy the folder ibid-data/models");
  await look("not downloaded");
  mkdirSync(join(stage.folder, "ibid-data/models"), { recursive: true });
  cpSync(join(models, "use-multilingual"), join(stage.folder, "ibid-data/models/use-multilingual"), {
    recursive: true,
  });
  await page.reload();
  await expect(page.getByRole("button", { name: "Open ibid" })).toBeEnabled();
  await look("ready");
  await page.getByRole("button", { name: "Open ibid" }).click();

  await expect(page.getByText("Drop files here, or click to browse")).toBeVisible();
  await upload(
    page,
    [{ name: "Chapter_85.pdf", mimeType: "application/pdf", buffer: readFileSync(SAMPLE) }],
    "trade, for Trade compliance",
  );
  await expect(page.getByRole("region", { name: "Uploads" }).getByText("ready")).toBeVisible();
  await ask(page, "What is the rate for LED lamps?");
  await answered(page);
  await expect(page.locator(".answer").last().locator(".cite, [class*=cite]").first()).toBeVisible();
  await look("answered");
  expect((Date.now() - began) / 1000).toBeLessThan(180);
});

test("once it is open, there is nothing to set up", async ({ stage }) => {
  const found = await fetch(`${stage.url}/setup`);
  expect(found.status).toBe(404);
});
