// Routes, including those of earlier versions.

import { expect, test } from "@playwright/test";
import { parse } from "../src/route";

test("routes of earlier versions lead to the views that replaced them", () => {
  expect(parse("#/status").path).toEqual(["status"]);
  expect(parse("#/state").path).toEqual(["status"]);
  expect(parse("#/chat/1?open=trace%3A2").query.get("open")).toBe("trace:2");
  expect(parse("#/chat/1?open=way%3A2").query.get("open")).toBe("trace:2");
  expect(parse("#/chat/1?open=cite%3A2%3A0").query.get("open")).toBe("cite:2:0");
  expect(parse("").path).toEqual([]);
});
