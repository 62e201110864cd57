// The page in Debian's Chromium, against a real server with real documents and a scripted model.

import { defineConfig } from "@playwright/test";

// Waits are long: a machine that is busy with something else may stall for many seconds.
export default defineConfig({
  testDir: "tests",
  outputDir: "test-results",
  workers: 1,
  timeout: 180_000,
  expect: { timeout: 45_000 },
  reporter: [["list"]],
  use: {
    viewport: { width: 1380, height: 860 },
    locale: "en-US",
    launchOptions: { executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] },
    trace: "retain-on-failure",
  },
});
