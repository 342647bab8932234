import { describe, expect, test } from "vitest";
import { noCounts } from "../../../src/core/report/counts.ts";
import type { DaemonState } from "../../../src/daemon/state/state.ts";
import {
  aFinishedRun,
  aHealthyDaemon,
  aHealthySnapshot,
  aHealthyStatus,
  minutesAgo,
  secondsAgo,
} from "../a-healthy-daemon.ts";
import { aBadEnd, aCurrentRun, aStandby, pageOf, readOf } from "./shown-page.ts";

test("nothing of a healthy page is a value that nobody can read", () => {
  expect(readOf(aHealthyDaemon())).not.toMatch(/\[object|undefined|NaN/);
});

describe("runs", () => {
  test("have times both ways", () => {
    const page = pageOf(aHealthyDaemon({ nextRun: minutesAgo(-2.5) }));
    expect(page).toContain(
      '<time datetime="2026-03-01T12:05:00.000Z">in 3\u00a0min <small>2026-03-01 12:05:00',
    );
    expect(page).toContain(
      '<time datetime="2026-03-01T12:00:00.000Z">3\u00a0min ago <small>2026-03-01 12:00:00',
    );
  });

  test("have the times of the config's time zone, which is named once", () => {
    const page = pageOf(
      aHealthyDaemon({ timezone: "Asia/Kathmandu", nextRun: new Date("2026-03-01T18:20:00Z") }),
    );
    expect(page).toContain(
      '<time datetime="2026-03-01T18:20:00.000Z">in 6\u00a0h <small>2026-03-02 00:05:00<',
    );
    expect(page.split("Asia/Kathmandu")).toHaveLength(2);
    expect(page).not.toContain("UTC");
  });

  test("the last one says what it did", () => {
    const counts = { ...noCounts(), created: 12_345, unchanged: 1 };
    const lastRun = aFinishedRun({ counts, requests: 12_345 });
    expect(readOf(aHealthyDaemon({ lastRun }))).toContain(
      "sync ok 12 345 created, 1 unchanged ; 12 345 requests in 405 ms",
    );
    expect(readOf(aHealthyDaemon({ lastRun: aFinishedRun({ error: aBadEnd }) }))).toContain(
      "sync failed SERVICE_UNAVAILABLE: the service doesn't answer ; 0 requests in 405 ms",
    );
  });

  test("the one that goes on says how far it is, and what it waits for", () => {
    const current = {
      ...aCurrentRun,
      since: minutesAgo(1),
      done: 2_500,
      total: 10_000,
      waiting: { until: secondsAgo(-30), reason: "the service asked for it" },
    };
    const text = readOf(aHealthyDaemon({ current }));
    expect(text).toContain("2 500 of 10 000 done, about 3 min left");
    expect(text).toContain("Waits until 2026-03-01 12:03:00 : the service asked for it");
    expect(pageOf(aHealthyDaemon({ current }))).toContain('<progress max="10000" value="2500"');
    expect(readOf(aHealthyDaemon({ current: aCurrentRun }))).toContain("Reading the source and comparing");
  });

  test("the page is renewed sooner while one goes on", () => {
    for (const [state, seconds] of [
      [aHealthyDaemon(), 30],
      [aHealthyDaemon({ current: aCurrentRun }), 5],
    ] as const) {
      expect(pageOf(state)).toContain(
        `<noscript><meta http-equiv="refresh" content="${seconds}"></noscript>`,
      );
      expect(pageOf(state)).toContain(`<body data-refresh="${seconds}">`);
    }
  });
});

test("groups are counted by state", () => {
  const groups = {
    total: 1_000_000,
    in_sync: 999_000,
    under_way: 5,
    failing: 0,
    missing: 1_234,
    unverified: 67,
  };
  expect(
    readOf(aHealthyDaemon({ ledger: aHealthySnapshot({ status: aHealthyStatus({ groups }) }) })),
  ).toContain(
    "Groups in all 1 000 000 in sync 999 000 under way 5 failing 0 missing 1 234 unverified 67 rejected rows 0 As the ledger was",
  );
});

describe("who holds the lease", () => {
  const lease = { epoch: "1", holder: "pod-1", acquiredAt: minutesAgo(3), expiresAt: minutesAgo(-1) };

  test.each<[Partial<DaemonState>, string]>([
    [{}, "Lease free"],
    [{ ledger: null }, "Lease not known yet"],
    [{ current: aCurrentRun }, "Lease held by this instance"],
    [{ standby: aStandby }, "Lease another instance is at work: pod-2"],
    [{ ledger: aHealthySnapshot({ status: aHealthyStatus({ lease }) }) }, "Lease pod-1 , since 3 min ago"],
  ])("%#", (overrides, text) => {
    expect(readOf(aHealthyDaemon(overrides))).toContain(text);
  });
});

test("the page tells when the service last answered well", () => {
  expect(readOf(aHealthyDaemon({ lastAnswer: minutesAgo(50) }))).toContain("Last good answer 50 min ago");
  expect(readOf(aHealthyDaemon({ lastAnswer: null }))).not.toContain("Last good answer");
});
