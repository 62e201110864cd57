// Who sees what on a server with keys: one's own conversations, what others share, and what a role allows.

import { createHash } from "node:crypto";
import type { Browser } from "@playwright/test";
import { accessible, answered, ask, expect, test } from "./fixture";
import { SAMPLE, Stage } from "./stage";

const holder = (name: string, role: string) => [
  `[serve.keys.${name}]`,
  `sha256 = "${createHash("sha256").update(`ibid_${name}`).digest("hex")}"`,
  `role = "${role}"`,
];

async function signedIn(browser: Browser, stage: Stage, name: string) {
  const context = await browser.newContext({ baseURL: stage.url });
  await context.addInitScript((key) => localStorage.setItem("ibid.key", key), `ibid_${name}`);
  return context.newPage();
}

test("a conversation is its owner's, can be shared to be read, and goes on in a copy", async ({ browser }) => {
  const settings = [...holder("ana", "reader"), ...holder("eva", "reader"), ...holder("root", "admin")];
  const stage = await Stage.begin([SAMPLE], { settings });
  const [ana, eva, root] = await Promise.all(["ana", "eva", "root"].map((name) => signedIn(browser, stage, name)));
  if (!(ana && eva && root)) throw new Error("three are signed in");
  await ask(ana, "What is the general rate of duty for LED lamps?");
  await answered(ana);
  const link = ana.url();

  // A reader asks and reads; only an admin looks at what others do.
  await expect(ana.getByRole("button", { name: "Add to dataset" })).toHaveCount(0);
  await expect(ana.getByRole("link", { name: "Insights" })).toHaveCount(0);
  await ana.goto("/#/documents");
  await expect(ana.getByRole("link", { name: /hts-chapter/ })).toBeVisible();
  await expect(ana.getByRole("button", { name: "Add files" })).toHaveCount(0);
  await root.goto("/#/documents");
  await expect(root.getByRole("button", { name: "Add files" })).toBeVisible();
  await expect(root.getByRole("link", { name: "Insights" })).toBeVisible();

  await eva.goto(link);
  await expect(eva.getByText("there is no thread")).toBeVisible();

  await ana.goto(link);
  await ana.getByRole("button", { name: "Share" }).click();
  await ana.getByRole("checkbox", { name: "Shared" }).click();
  await expect(ana.getByRole("textbox", { name: "Link" })).toHaveValue(link);
  await accessible(ana);
  await eva.reload();
  await expect(eva.getByText("This conversation is shared with you.")).toBeVisible();
  await expect(eva.getByRole("textbox", { name: "Your question" })).toHaveCount(0);
  await expect(eva.locator(".threads li")).toHaveCount(0);
  await accessible(eva);
  await eva.getByRole("button", { name: "Continue in a copy" }).click();
  await expect(eva.getByRole("textbox", { name: "Your question" })).toBeVisible();
  await expect(eva.locator(".threads li")).toHaveCount(1);
  if (process.env.IBID_SHOTS) await ana.screenshot({ path: `${process.env.IBID_SHOTS}/share.png` });

  await ana.getByRole("checkbox", { name: "Shared" }).click();
  await expect(ana.getByRole("checkbox", { name: "Shared" })).not.toBeChecked();
  await eva.goto(link);
  await eva.reload();
  await expect(eva.getByText("there is no thread")).toBeVisible();
  await Promise.all([ana, eva, root].map((page) => page.close()));
  await stage.end();
});
