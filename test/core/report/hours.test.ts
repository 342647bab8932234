import { expect, test } from "vitest";
import { hoursOf } from "../../../src/core/report/hours.ts";
import { anUnfinishedRun, aPastRun, hoursAgo, minutesAgo, NOW } from "../../daemon/a-healthy-daemon.ts";

const error = { code: "SERVICE_UNAVAILABLE", message: "" };

test("an hour is as bad as its worst run, and a run that goes on is not bad yet", () => {
  const history = [
    anUnfinishedRun({ startedAt: minutesAgo(1) }),
    aPastRun({ startedAt: minutesAgo(2) }),
    aPastRun({ startedAt: hoursAgo(1) }),
    aPastRun({ startedAt: hoursAgo(1), counts: { failed: 1 } }),
    aPastRun({ startedAt: hoursAgo(2), error }),
    aPastRun({ startedAt: hoursAgo(2), error: { code: "INTERRUPTED", message: "" } }),
    aPastRun({ startedAt: hoursAgo(3), counts: { held: 1 } }),
    anUnfinishedRun({ startedAt: hoursAgo(4) }),
    aPastRun({ startedAt: hoursAgo(6), error: { code: "LEASE_HANDED_OVER", message: "" } }),
  ];
  const hours = hoursOf(history, NOW, 24);
  expect(hours.map(({ worst }) => worst)).toEqual([
    ...["ok", "none", "failed", "partial", "failed", "partial", "ok"],
  ]);
  expect(hours.at(-1)?.from.toISOString()).toBe("2026-03-01T12:00:00.000Z");
});

test("no more hours are shown than wanted, and one if there was no run yet", () => {
  expect(hoursOf([aPastRun(), aPastRun({ startedAt: hoursAgo(100) })], NOW, 24)).toHaveLength(24);
  expect(hoursOf([], NOW, 24)).toHaveLength(1);
});
