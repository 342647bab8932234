import { expect, test } from "vitest";
import { wasForgottenSince } from "../../../src/core/report/forgotten.ts";

const at = (minute: number): Date => new Date(Date.UTC(2026, 2, 1, 12, minute));

test.each([
  ["no run", undefined, false],
  ["a sync", { command: "sync", startedAt: at(5), finishedAt: at(6) }, false],
  ["a forget that ended before", { command: "forget", startedAt: at(-5), finishedAt: at(-4) }, false],
  ["a forget that ended since", { command: "forget", startedAt: at(-5), finishedAt: at(1) }, true],
  ["a forget that was killed before", { command: "forget", startedAt: at(-5), finishedAt: null }, false],
  [
    "a forget that was killed since, or goes on",
    { command: "forget", startedAt: at(5), finishedAt: null },
    true,
  ],
])("%s as the newest run: the scope was forgotten since: %s", (_, last, expected) => {
  expect(wasForgottenSince(last, at(0))).toBe(expected);
});
