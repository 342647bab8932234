import { describe, expect, test } from "vitest";
import { noCounts } from "../../../src/core/report/counts.ts";
import { StateTracker } from "../../../src/daemon/state/state-tracker.ts";
import type { RunEvent } from "../../../src/ports/observer.ts";
import { aLedgerStatus, aRecordedRun, aRunSummary } from "../../builders/daemon-state.ts";
import { aClock } from "../../fakes/set-clock.ts";

const DAY = 86_400_000;
const NOON = new Date("2026-03-01T12:00:00Z");
const noonAnd = (ms: number): Date => new Date(NOON.getTime() + ms);

/** It is noon, and nothing has happened yet. */
function aTracker() {
  const clock = aClock();
  const tracker = new StateTracker(() => clock.now());
  const observe = (...events: RunEvent[]): void => {
    for (const event of events) tracker.observe(event);
  };
  return { tracker, clock, observe };
}

/** It is noon, and a sync is under way. */
function aRunningTracker() {
  const running = aTracker();
  running.tracker.begins();
  return running;
}

const started: RunEvent = { kind: "started", run: "17" };
const planned: RunEvent = { kind: "planned", changes: 5, unchanged: 1, missing: 0 };
const finished = (overrides: Parameters<typeof aRunSummary>[0] = {}): RunEvent => ({
  kind: "finished",
  ...aRunSummary(overrides),
});
const failed = (code: string): RunEvent =>
  finished({ outcome: "failed", error: { code, message: "it says why" } });

describe("a run that goes on", () => {
  test("has no id before it has the lease", () => {
    const { tracker, observe } = aRunningTracker();
    expect(tracker.state.current).toEqual({ since: NOON, run: null, done: 0, total: 0, waiting: null });
    observe(started);
    expect(tracker.state.current?.run).toBe("17");
  });

  test.each<RunEvent>([
    { kind: "recorded", user_group_id: "a", result: "created", unverified: false, tokenFingerprint: "f" },
    { kind: "deleted", user_group_id: "a", absence: "absent" },
    { kind: "rotated", user_group_id: "a", tokenFingerprint: "f", formerTokenFingerprint: null },
    { kind: "restored", user_group_id: "a" },
    { kind: "failed", user_group_id: "a", code: "X", message: "no" },
  ])("gets on with what is $kind, and waits no more", (event) => {
    const { tracker, observe } = aRunningTracker();
    observe(
      started,
      planned,
      { kind: "restoring", tokens: 3 },
      { kind: "rotating", tokens: 2 },
      { kind: "waiting", ms: 9, reason: "x" },
      event,
    );
    expect(tracker.state.current).toMatchObject({ done: 1, total: 10, waiting: null });
  });

  test("tells what it waits for, and until when", () => {
    const { tracker, clock, observe } = aRunningTracker();
    clock.elapsed = 1_000;
    observe(started, planned, { kind: "waiting", ms: 7_000, reason: "the service asked for it" });
    expect(tracker.state.current).toMatchObject({
      done: 0,
      waiting: { until: noonAnd(8_000), reason: "the service asked for it" },
    });
  });

  test("is none where no sync is under way", () => {
    const { tracker, observe } = aTracker();
    observe(started, planned, finished());
    expect(tracker.state).toMatchObject({ current: null, lastRun: null, lastGoodSync: null });
  });
});

describe("a run that has ended", () => {
  test("is the last one, with the duration that the log has", () => {
    const { tracker, clock, observe } = aRunningTracker();
    observe(started);
    clock.elapsed = 2_000;
    const counts = { ...noCounts(), created: 2 };
    observe(finished({ counts, durationMs: 405 }));
    expect(tracker.state).toMatchObject({ current: null, lastGoodSync: noonAnd(2_000) });
    expect(tracker.state.lastRun).toMatchObject({
      ...{ id: "17", command: "sync", result: { outcome: "ok", counts, error: null } },
      startedAt: noonAnd(2_000 - 405),
      finishedAt: noonAnd(2_000),
    });
  });

  test.each([
    ["partial", true],
    ["failed", false],
  ] as const)("and is %s counts as a good sync: %s", (outcome, isGood) => {
    const { tracker, observe } = aRunningTracker();
    observe(started, finished({ outcome }));
    expect(tracker.state.lastGoodSync).toEqual(isGood ? NOON : null);
  });
});

describe("standby", () => {
  test("says who is at work now, and is no run", () => {
    const { tracker, clock, observe } = aTracker();
    for (const message of ["pod-1 is at work", "pod-2 is at work"]) {
      tracker.begins();
      observe(finished({ outcome: "failed", error: { code: "LEASE_HELD", message } }));
      clock.elapsed += 15_000;
    }
    expect(tracker.state).toMatchObject({
      current: null,
      lastRun: null,
      standby: { message: "pod-2 is at work" },
    });
  });

  test.each([finished(), failed("LEDGER_UNAVAILABLE"), failed("INTERRUPTED")])(
    "is over once a run gets further: $outcome",
    (event) => {
      const { tracker, observe } = aRunningTracker();
      observe(failed("LEASE_HELD"));
      tracker.begins();
      observe(event);
      expect(tracker.state.standby).toBeNull();
    },
  );
});

describe("a sync that hands its lease over to a command", () => {
  test("is a standby and no failure, until the next run has the lease", () => {
    const { tracker, observe } = aRunningTracker();
    observe(started, failed("LEASE_HANDED_OVER"));
    expect(tracker.state).toMatchObject({
      current: null,
      lastRun: null,
      standby: { message: "it says why" },
    });
    tracker.begins();
    expect(tracker.state.standby).not.toBeNull();
    observe(started);
    expect(tracker.state.standby).toBeNull();
  });
});

describe("the ledger that was read", () => {
  test("tells of other instances' good syncs", () => {
    const { tracker } = aTracker();
    const ledger = aLedgerStatus({
      runs: [
        aRecordedRun({ id: "4", startedAt: noonAnd(-2), finishedAt: null, result: null }),
        aRecordedRun({ id: "3", command: "rotate", finishedAt: noonAnd(-3) }),
        aRecordedRun({
          id: "2",
          finishedAt: noonAnd(-4),
          result: { outcome: "failed", counts: noCounts(), requests: 0, error: null },
        }),
        aRecordedRun({ id: "1", finishedAt: noonAnd(-5) }),
        aRecordedRun({ id: "0", finishedAt: noonAnd(-6) }),
      ],
    });
    tracker.read(ledger);
    expect(tracker.state).toMatchObject({ ledger, lastGoodSync: noonAnd(-5) });
  });

  test("tells when the service last answered, as long as no single tenant was served since", () => {
    const { tracker, observe } = aTracker();
    const service = (answeredAt: Date) =>
      aLedgerStatus({ service: { ...aLedgerStatus().service, answeredAt } });
    tracker.read(service(noonAnd(-5_000)));
    expect(tracker.state.lastAnswer).toEqual(noonAnd(-5_000));
    observe({ kind: "answered", at: noonAnd(-1_000) });
    expect(tracker.state.lastAnswer).toEqual(noonAnd(-1_000));
    tracker.read(service(noonAnd(-5_000)));
    expect(tracker.state.lastAnswer).toEqual(noonAnd(-1_000));
  });

  test("doesn't make the last good sync an older one", () => {
    const { tracker, observe } = aRunningTracker();
    observe(started, finished());
    tracker.read(aLedgerStatus({ runs: [aRecordedRun({ finishedAt: noonAnd(-1) })] }));
    expect(tracker.state.lastGoodSync).toEqual(NOON);
    tracker.read(aLedgerStatus());
    expect(tracker.state.lastGoodSync).toEqual(NOON);
  });

  test("tells of no good sync of the future, as there is where the clock was set back", () => {
    const { tracker, clock, observe } = aRunningTracker();
    observe(started, finished());
    clock.elapsed = -DAY;
    const ends = [noonAnd(-1), noonAnd(-DAY - 1)];
    tracker.read(aLedgerStatus({ runs: ends.map((finishedAt) => aRecordedRun({ finishedAt })) }));
    expect(tracker.state.lastGoodSync).toEqual(noonAnd(-DAY - 1));
  });
});

test("what calls wait for is known during a run and after it, until it is told of no more", () => {
  const { tracker, observe, clock } = aTracker();
  observe({ kind: "queued", calls: 3, reason: "the service allows about 30/min" });
  expect(tracker.state.queued).toEqual({ calls: 3, reason: "the service allows about 30/min" });
  clock.elapsed += 120_000;
  expect(tracker.state.queued).toBeNull();
});
