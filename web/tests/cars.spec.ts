// A conversation with the concierge, from the greeting to the instalments: options as cards and as a table, sliders that the
// server follows, and what a reload, another width and a dark screen make of it.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { accessible, answered, ask, expect, say, test } from "./fixture";

/** A few cars, each a little dearer than the one before. */
function cars(): string {
  const models = [
    ["Volkswagen", "Jetta", "Comfortline", "Sedán"],
    ["Volkswagen", "Jetta", "Highline", "Sedán"],
    ["Nissan", "Versa", "Advance", "Sedán"],
    ["Mazda", "CX-5", "i Sport", "SUV"],
  ];
  const colours = ["Rojo", "Blanco", "Gris", "Negro"];
  const rows = Array.from({ length: 80 }, (_, at) => {
    const [make, model, trim, body] = models[at % models.length] ?? [];
    const transmission = at % 5 === 0 ? "Manual" : "Automática";
    const colour = colours[(at >> 2) % colours.length];
    return [
      make,
      model,
      trim,
      2015 + (at % 9),
      180_000 + at * 2_500,
      20_000 + at * 700,
      colour,
      transmission,
      body,
      "Gasolina",
      "Puebla",
    ];
  });
  const head = "marca,modelo,version,año,precio,kilometraje,color,transmision,carroceria,combustible,ciudad";
  return [head, ...rows.map((row) => row.join(","))].join("\n");
}

test.beforeAll(({ stage }) => {
  const folder = join(stage.folder, "showroom");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "cars.csv"), cars());
  stage.run("ingest", "--assistant", "car-sales");
  stage.run("ingest", join(folder, "cars.csv"), "--assistant", "car-sales");
});

async function shot(page: Page, name: string) {
  if (process.env.IBID_SHOTS) await page.screenshot({ path: `${process.env.IBID_SHOTS}/${name}.png` });
}

test("from a greeting to instalments, as a person would have it", async ({ page, stage }) => {
  await ask(page, "Hola", { assistant: "car-sales" });
  await answered(page);
  await expect(page.locator(".answer").last()).toContainText("¿Qué auto buscas?");

  await say(page, "Busco un Jetta automático");
  await answered(page);
  const options = page.getByRole("region", { name: "Options" }).last();
  await expect(options.getByRole("listitem").filter({ has: page.getByRole("heading") })).toHaveCount(5);
  await expect(options).toContainText("5 of 32 found");
  await expect(options.locator(".option-card").first()).toContainText("Volkswagen Jetta");
  await expect(options.locator(".option-price").first()).toContainText("$");
  await accessible(page);
  await shot(page, "cars-options");
  await options.getByRole("button", { name: "Table" }).click();
  await expect(options.getByRole("columnheader", { name: "Mileage" })).toBeVisible();
  await shot(page, "cars-table");
  await options.getByRole("button", { name: "Cards" }).click();

  await say(page, "de menos de 300 mil");
  await answered(page);
  await expect(page.getByRole("region", { name: "Options" })).toHaveCount(2);

  await say(page, "¿Tienen sucursal en Puebla?");
  await answered(page);
  await expect(page.locator(".answer").last()).toContainText("Explanada Puebla");
  await expect(page.locator(".answer").last().locator(".citation")).toHaveCount(1);

  await page.locator(".option-card").last().getByRole("button", { name: "Instalments" }).click();
  await answered(page);
  const instalments = page.getByRole("region", { name: "Instalments" }).last();
  await expect(instalments.getByRole("heading")).toContainText("Volkswagen Jetta");
  await expect(instalments.getByRole("row")).toHaveCount(5);
  const large = instalments.locator(".instalment-large strong");
  const before = await large.textContent();
  await accessible(page);
  await shot(page, "cars-instalments");

  // The sliders have the server work it out again.
  const worked = page.waitForResponse((response) => response.url().endsWith("/tools/compute_financing"));
  await instalments.getByRole("slider", { name: "Down payment" }).fill("120000");
  const body = await (await worked).json();
  expect(body.down_payment).toBe(120_000);
  await expect(large).not.toHaveText(String(before));
  await instalments.getByRole("slider", { name: "Term" }).focus();
  await page.keyboard.press("ArrowRight");
  await expect(instalments.locator("output").last()).toHaveText("49 months");
  await expect(instalments.getByRole("row")).toHaveCount(6);
  await expect(instalments.locator('tr[aria-current="true"]')).toContainText("49");
  await shot(page, "cars-sliders");

  const refused = await stage.post("/assistants/car-sales/tools/compute_financing", { price: 100_000, months: [12] });
  expect(refused.detail).toContain("12 months are not from 36 to 72");

  await say(page, "¿y a 48 meses?");
  await answered(page);
  await expect(page.getByRole("region", { name: "Instalments" }).last().getByRole("row")).toHaveCount(2);

  // What was shown stays with the conversation.
  await page.reload();
  await expect(page.getByRole("region", { name: "Instalments" }).last().getByRole("row")).toHaveCount(2);
  await expect(page.getByRole("region", { name: "Options" }).last()).toContainText("Volkswagen Jetta");
});

test("which car is meant is asked, and answered with a button", async ({ page }) => {
  await ask(page, "Busco un Jetta automático para hoy", { assistant: "car-sales" });
  await answered(page);
  await say(page, "¿Cuánto sería al mes?");
  const question = page.getByRole("region", { name: "Waiting for your reply" });
  await expect(question.getByRole("button", { name: /^\d\. Volkswagen/ })).toHaveCount(5);
  await accessible(page);
  await shot(page, "cars-asked");
  await question.getByRole("button", { name: /^2\. Volkswagen/ }).click();
  await answered(page);
  await expect(page.getByRole("region", { name: "Instalments" })).toBeVisible();
});

for (const [name, width, colorScheme] of [
  ["phone", 390, "light"],
  ["dark", 1280, "dark"],
] as const) {
  test(`options and instalments on a ${name} screen`, async ({ page }) => {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 844 });
    await ask(page, `Busco un Jetta automático (${name})`, { assistant: "car-sales" });
    await answered(page);
    await accessible(page);
    await page.locator(".option-card").first().scrollIntoViewIfNeeded();
    await shot(page, `cars-options-${name}`);
    await page.locator(".option-card").first().getByRole("button", { name: "Instalments" }).click();
    await answered(page);
    await expect(page.getByRole("region", { name: "Instalments" })).toBeVisible();
    await accessible(page);
    await shot(page, `cars-instalments-${name}`);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
    expect(wide).toBe(false);
  });
}
