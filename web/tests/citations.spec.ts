// Citations: the number, the quote, the page, the row.

import { marks } from "../src/chat/marks";
import { accessible, answered, ask, expect, test } from "./fixture";
import { hasChapter } from "./stage";

test("a number shows the words, and opens the page at the row that is quoted", async ({ page }) => {
  await ask(page, "What is the rate for LED lamps?");
  await answered(page);
  const cite = page.getByRole("button", { name: /^Source 1: .*exact quote/ }).first();
  await cite.hover();
  await expect(page.locator(".cite-card")).toContainText("Light-emitting diode (LED) lamps");
  await expect(page.locator(".cite-card")).toContainText("exact quote");
  await cite.click();
  const panel = page.locator(".panel");
  if (hasChapter) await expect(panel.getByText("Page 73 of 88")).toBeVisible();
  await expect(panel.getByText("exact quote")).toBeVisible();
  await expect(page.locator(".pdf-page[data-page]")).toBeVisible();
  const box = page.locator(".box");
  await expect(box.first()).toBeVisible();
  // The boxes cover the row, and nothing of its neighbours.
  const under = await page.evaluate(() => {
    const boxes = [...document.querySelectorAll(".box")].map((box) => box.getBoundingClientRect());
    const inside = (span: DOMRect) =>
      boxes.some(
        (box) =>
          (span.left + span.right) / 2 > box.left &&
          (span.left + span.right) / 2 < box.right &&
          (span.top + span.bottom) / 2 > box.top &&
          (span.top + span.bottom) / 2 < box.bottom,
      );
    const spans = [...document.querySelectorAll(".textLayer span")];
    return spans.filter((span) => inside(span.getBoundingClientRect())).map((span) => span.textContent ?? "");
  });
  const row = under.join(" ");
  expect(row).toContain("8539.52.00");
  expect(row).toContain("Light-emitting diode (LED) lamps");
  expect(row).toContain("2%");
  for (const other of ["8539.51.00", "8539.90.00", "modules"]) expect(row).not.toContain(other);
  // And the pixels there are yellow, with the ink of the row in them, while beside the boxes they are not.
  const colours = await coloursOf(page);
  expect(colours.inside.yellow).toBeGreaterThan(0.6);
  expect(colours.inside.ink).toBeGreaterThan(0.01);
  expect(colours.outside.yellow).toBe(0);
  await accessible(page);
  await page.keyboard.press("Escape");
  await expect(panel).toHaveCount(0);
});

test("a value of another column is told, with both cells on the page", async ({ page }) => {
  await ask(page, "What is the mistaken general rate for 8539.52.00?");
  await answered(page);
  const warnings = page.getByRole("region", { name: "Warnings" });
  await expect(warnings).toContainText("20% is the Column 2 rate of duty of 8539.52.00");
  await warnings.getByRole("button", { name: "Show in the table" }).click();
  await expect(page.locator(".pdf-page[data-page]")).toBeVisible();
  await expect(page.locator(".reader-cells")).toContainText("The right value");
  const under = (selector: string) =>
    page.evaluate((selector) => {
      const boxes = [...document.querySelectorAll(selector)].map((box) => box.getBoundingClientRect());
      const spans = [...document.querySelectorAll(".textLayer span")].filter((span) => {
        const { left, right, top, bottom } = span.getBoundingClientRect();
        const [x, y] = [(left + right) / 2, (top + bottom) / 2];
        return boxes.some((box) => x > box.left && x < box.right && y > box.top && y < box.bottom);
      });
      return spans.map((span) => (span.textContent ?? "").trim()).filter((text) => text !== "");
    }, selector);
  await expect.poll(() => under(".box.wrong")).toEqual(["20%"]);
  expect((await under(".box:not(.wrong)")).join(" ")).toMatch(/^2%/);
  if (process.env.IBID_SHOTS) await page.screenshot({ path: `${process.env.IBID_SHOTS}/cells.png` });
  await accessible(page);
});

/** How much of the picture is yellow, and how much is ink, inside the boxes and above them. */
async function coloursOf(page: import("@playwright/test").Page) {
  const box = await page.locator(".box").first().boundingBox();
  if (!box) throw new Error("there is no box");
  const shots = [
    await page.screenshot({ clip: box }),
    await page.screenshot({ clip: { ...box, y: box.y - box.height - 12 } }),
  ];
  const [inside, outside] = await page.evaluate(
    (pictures) =>
      Promise.all(
        pictures.map(async (picture) => {
          const image = new Image();
          image.src = `data:image/png;base64,${picture}`;
          await image.decode();
          const canvas = new OffscreenCanvas(image.width, image.height);
          const drawing = canvas.getContext("2d");
          if (!drawing) throw new Error("nothing can be drawn");
          drawing.drawImage(image, 0, 0);
          const { data } = drawing.getImageData(0, 0, image.width, image.height);
          let [yellow, ink] = [0, 0];
          for (let at = 0; at < data.length; at += 4) {
            const [red = 0, green = 0, blue = 0] = [data[at], data[at + 1], data[at + 2]];
            if (red > 200 && green > 170 && blue < 190) yellow += 1;
            if (red + green + blue < 330) ink += 1;
          }
          const all = data.length / 4;
          return { yellow: yellow / all, ink: ink / all };
        }),
      ),
    shots.map((shot) => shot.toString("base64")),
  );
  if (!inside || !outside) throw new Error("nothing was seen");
  return { inside, outside };
}

test("a value that no source supports is marked in the answer", async ({ page }) => {
  await ask(page, "What is the rate for LED lamps?");
  await answered(page);
  const doubted = page.locator(".answer mark");
  await expect(doubted).toHaveText("7.5%");
  await expect(doubted).toHaveAttribute("title", /no source supports 7\.5%/);
  await expect(page.getByRole("region", { name: "Warnings" })).toContainText("7.5%");
});

test("a value is doubted only where it stands by itself", () => {
  const text = { type: "text" as const, value: "It is 25%, or 5%, and 1.5% at times; lamps of 12W." };
  const paragraph = { type: "paragraph" as const, children: [text] };
  const why = "it is in no source";
  marks([
    { words: "5%", why },
    { words: "12", why },
  ])({ type: "root", children: [paragraph] });
  const parts: readonly object[] = paragraph.children;
  expect(parts).toMatchObject([
    { type: "text", value: "It is 25%, or " },
    { data: { hName: "mark" }, children: [{ value: "5%" }] },
    { type: "text", value: ", and 1.5% at times; lamps of " },
    { data: { hName: "mark" }, children: [{ value: "12" }] },
    { type: "text", value: "W." },
  ]);
});

test("an answer in fields fills the sidebar: codes, agencies, a checklist, the tariff, risks", async ({ page }) => {
  await ask(page, "What do I need to import LED lamps?", { format: "trade_compliance" });
  await answered(page);
  const panel = page.locator(".panel");
  await expect(panel.getByText("8539.52.00")).toBeVisible();
  await expect(panel.getByText("DOE").first()).toBeVisible();
  await expect(panel.getByRole("row", { name: /Duty rate 2%/ })).toBeVisible();
  await expect(panel.getByText("Additional duties may apply")).toBeVisible();
  const paper = panel.getByRole("checkbox", { name: /Entry summary/ });
  await paper.check();
  await accessible(page);
  await page.reload();
  await expect(paper).toBeChecked();
});

test("a format of an assistant's own folder is shown by its schema alone", async ({ page }) => {
  await ask(page, "What happened to the LED lamps?", { assistant: "incident-desk", format: "incident_report" });
  await answered(page);
  const panel = page.locator(".panel");
  await expect(panel.getByText("medium")).toBeVisible();
  await expect(panel.getByRole("columnheader", { name: "Event" })).toBeVisible();
  await expect(panel.getByRole("row", { name: "08:15 The pallet fell. $1,250.50" })).toBeVisible();
  await panel.getByRole("checkbox", { name: /Report to the insurer.*Warehouse.*Within a day/ }).check();
  await expect(panel.getByRole("heading", { name: "Damage" })).toBeVisible();
  await expect(page.getByLabel("Format")).toContainText("Incident report");
  await accessible(page);
});

test("a structured answer says how sure it is, and what could be asked next", async ({ page }) => {
  await ask(page, "What is the rate for LED lamps?", { format: "structured" });
  await answered(page);
  await expect(page.locator(".panel").getByText("High")).toBeVisible();
  await page.locator(".panel").getByRole("button", { name: "What is the rate for LED modules?" }).click();
  await expect(page.locator(".question-text").last()).toHaveText("What is the rate for LED modules?");
  await answered(page);
});

test("what a model writes cannot become part of the page", async ({ page }) => {
  await ask(page, "Be hostile.");
  await answered(page);
  await expect(page.locator(".prose")).toContainText("Hello");
  expect(await page.evaluate(() => "broken" in window)).toBe(false);
  await expect(page.locator(".prose script, .prose img, .prose iframe")).toHaveCount(0);
  for (const link of await page.locator(".prose a").all()) {
    expect((await link.getAttribute("href")) ?? "").not.toContain("javascript:");
  }
});
