// Research: rounds, withdrawn drafts, marked sentences, the web, which is asked for, and answers that are given again.

import { accessible, answered, ask, expect, test } from "./fixture";

test("rounds are shown, and a sentence that no source supports is marked", async ({ page }) => {
  await ask(page, "The rate for LED lamps is to be researched.", { assistant: "research" });
  await answered(page);
  const answer = page.locator(".answer").last();
  await expect(answer.locator(".prose")).toContainText("(no source supports this)");
  await expect(answer.locator("mark.doubted")).toHaveText("All of them are burned in public");
  await expect(page.getByRole("region", { name: "Warnings" })).toContainText(
    "no source supports: All of them are burned",
  );
  const research = answer.locator("details", { hasText: "Research" });
  await research.locator("summary").click();
  await expect(research).toContainText("Round 1");
  await expect(research).toContainText("Round 2");
  await expect(research.locator(".grades .chip").first()).toHaveText("Relevant");
  await expect(research.locator("del").first()).toContainText("burned in public");
  await expect(research.locator(".verdict").first()).toContainText(
    "No source supports: All of them are burned in public.",
  );
  if (process.env.IBID_SHOTS)
    await page.screenshot({ path: `${process.env.IBID_SHOTS}/research.png`, fullPage: true });
  await accessible(page);
  await page.reload();
  await expect(page.locator(".answer").last().locator("summary", { hasText: "2 rounds" })).toBeVisible();
});

test("the web is searched once a person agrees to the query", async ({ page }) => {
  await ask(page, "Who won the world cup in 1998?", { assistant: "research" });
  const question = page.getByRole("region", { name: "Waiting for your reply" });
  await expect(question).toContainText("May this be sent to a search of the web?");
  await expect(question.getByRole("listitem")).toHaveText("Who won the world cup in 1998?");
  if (process.env.IBID_SHOTS) await page.screenshot({ path: `${process.env.IBID_SHOTS}/web-asked.png` });
  await accessible(page);
  await question.getByRole("button", { name: "Search the web" }).click();
  await answered(page);
  const source = page.getByRole("link", { name: /World cups/ });
  await expect(source).toHaveAttribute("href", "https://football.example/1998");
  await expect(source).toContainText("football.example");
  await expect(source).toContainText("exact quote");
  if (process.env.IBID_SHOTS) await page.screenshot({ path: `${process.env.IBID_SHOTS}/web.png` });
  await accessible(page);
});

test("an answer that was checked before is given again, unless it is asked anew", async ({ page }) => {
  const question = "What are LED lamps in the schedule called?";
  await ask(page, question, { assistant: "research" });
  await answered(page);
  const before = page.getByRole("region", { name: "Answered before" });
  await expect(before).toHaveCount(0);
  await ask(page, `${question.toLowerCase()} please`, { assistant: "research" });
  await answered(page);
  await expect(before).toContainText("Answered and checked");
  await expect(page.locator(".answer").last().locator(".prose")).toContainText("Light-emitting diode (LED) lamps");
  await expect(page.locator(".citation").first()).toContainText("exact quote");
  if (process.env.IBID_SHOTS) await page.screenshot({ path: `${process.env.IBID_SHOTS}/cached.png` });
  await accessible(page);
  await before.getByRole("button", { name: "Ask again" }).click();
  await expect(before).toHaveCount(0);
  await answered(page);
  await expect(page.locator(".answer").last().locator(".prose")).toContainText("Light-emitting diode (LED) lamps");
});
