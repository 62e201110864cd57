// The fold over the events of a turn. The streams in tests/streams also test the same fold in Rust.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@playwright/test";
import type { TurnEvent } from "../src/api/schema";
import { apply, newTurn, type Turn, written } from "../src/chat/turn";

type Stream = { readonly events: readonly TurnEvent[]; readonly text: string; readonly status: string };

const folder = join(import.meta.dirname, "../../tests/streams");
const files = readdirSync(folder).filter((name) => name.endsWith(".json"));

function folded(events: readonly TurnEvent[]): Turn {
  return events.reduce(apply, newTurn(events[0]?.run ?? ""));
}

test("there are recorded streams", () => {
  expect(files.length).toBeGreaterThan(0);
});

for (const name of files) {
  test(`${name} folds to its answer and status`, () => {
    const { events, text, status } = JSON.parse(readFileSync(join(folder, name), "utf8")) as Stream;
    const turn = folded(events);
    expect(written(turn)).toBe(text);
    expect(turn.status).toBe(status);
  });
}

const at = (step: number, attempt: number) => ({ run: "1", seq: 1, step, attempt });
const started = (step: number, attempt = 1): TurnEvent => ({
  ...at(step, attempt),
  type: "step_started",
  node: "generate",
});
const token = (text: string, step: number, attempt = 1): TurnEvent => ({ ...at(step, attempt), type: "token", text });
const withdrawn = (step: number): TurnEvent => ({ ...at(step, 1), type: "draft_withdrawn", reason: "" });

test("a withdrawn draft is gone, and the draft of an earlier step does not come back", () => {
  const events = [started(1), token("One", 1), started(2), token("Two", 2), withdrawn(2)];
  expect(written(folded(events.slice(0, 3)))).toBe("One");
  expect(written(folded(events.slice(0, 4)))).toBe("Two");
  expect(written(folded(events))).toBe("");
  expect(written(folded([...events, token("Three", 2)]))).toBe("Three");
});

test("a draft stays until the next attempt writes, unless the step is retried", () => {
  const events = [started(1), token("The rate ", 1), token("is 2%", 1)];
  const retrying: TurnEvent = { ...at(1, 1), type: "step_retrying", error: "timed out", after_ms: 100 };
  expect(written(folded([...events, started(1, 2)]))).toBe("The rate is 2%");
  expect(written(folded([...events, started(1, 2), token("Free", 1, 2)]))).toBe("Free");
  expect(written(folded([...events, retrying]))).toBe("");
});

test("an interrupted turn waits, resumes and ends", () => {
  const interrupted: TurnEvent = { ...at(1, 1), type: "interrupted", value: "What shall I repeat?" };
  const ended: TurnEvent = { ...at(0, 0), type: "ended", status: "stopped", error: null, message: null };
  const waiting = folded([started(1), interrupted]);
  expect(waiting).toMatchObject({ status: "interrupted", interrupt: "What shall I repeat?" });
  const running = apply(waiting, { ...at(1, 1), type: "resumed" });
  expect(running).toMatchObject({ status: "running", interrupt: undefined });
  expect(apply(running, ended).status).toBe("stopped");
});
