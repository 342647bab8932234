import { expect, test } from "vitest";
import { hostClock } from "../../../src/adapters/host/clock.ts";
import { progressBar } from "../../../src/adapters/terminal/progress-bar.ts";
import type { RunEvent } from "../../../src/ports/observer.ts";

const READING: RunEvent = { kind: "phase", phase: "reading" };
const PLANNED: RunEvent = { kind: "planned", changes: 2, unchanged: 0, missing: 0 };
const APPLYING: RunEvent = { kind: "phase", phase: "applying" };
const CREATED: RunEvent = {
  kind: "recorded",
  user_group_id: "t-1",
  result: "created",
  unverified: false,
  tokenFingerprint: "",
};

test.each([
  ["reading", [READING]],
  ["planning", [READING, PLANNED]],
  ["applying", [READING, PLANNED, APPLYING, CREATED]],
  ["its end", [READING, PLANNED, APPLYING, CREATED, CREATED]],
])("a run that stops at %s leaves a fresh line to whoever prints next", (_, events) => {
  let written = "";
  const observe = progressBar({ write: (text) => (written += text) }, hostClock);
  for (const event of events) observe(event);
  expect(written).toMatch(/\n$/);
});
