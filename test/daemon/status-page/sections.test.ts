import { describe, expect, test } from "vitest";
import { noCounts } from "../../../src/core/report/counts.ts";
import type { DaemonState, LedgerSnapshot } from "../../../src/daemon/state/state.ts";
import { aBrokenFeed, anAliveFeed, aServingState, someGroups } from "../../builders/daemon-state.ts";
import {
  aFinishedRun,
  aHealthyDaemon,
  aHealthySnapshot,
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
      "sync ok 12345 created, 1 unchanged ; 12 345 requests in 405 ms",
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
  const groups = someGroups({
    total: 1_000_000,
    in_sync: 999_000,
    under_way: 5,
    in_doubt: 3,
    wanted: 3,
    missing: 1_234,
    unverified: 67,
  });
  expect(readOf(aHealthyDaemon({ ledger: aHealthySnapshot({ groups }) }))).toContain(
    "Groups in all 1 000 000 in sync 999 000 under way 5 failing 0 in doubt 3 wanted 3 missing 1 234 unverified 67 rejected rows 0 As the ledger was",
  );
});

describe("who holds the lease", () => {
  const lease = {
    epoch: "1",
    holder: "pod-1",
    acquiredAt: minutesAgo(3),
    expiresAt: minutesAgo(-1),
    handOverMs: null,
  };

  test.each<[Partial<DaemonState>, string]>([
    [{}, "Lease free"],
    [{ ledger: null }, "Lease not known yet"],
    [{ current: aCurrentRun }, "Lease held by this instance"],
    [{ standby: aStandby }, "Lease another instance is at work: pod-2"],
    [{ ledger: aHealthySnapshot({ lease }) }, "Lease pod-1 , since 2026-03-01 11:59:30"],
  ])("%#", (overrides, text) => {
    expect(readOf(aHealthyDaemon(overrides))).toContain(text);
  });
});

test("the page tells when the service last answered well", () => {
  expect(readOf(aHealthyDaemon({ lastAnswer: minutesAgo(50) }))).toContain("Last good answer 50 min ago");
  expect(readOf(aHealthyDaemon({ lastAnswer: null }))).not.toContain("Last good answer");
});

describe("single tenants", () => {
  test("have no section if none are served", () => {
    expect(pageOf(aHealthyDaemon())).not.toContain("Between two syncs");
  });

  test("have each way in which they are noticed, and how they are served", () => {
    const serving = aServingState({
      feeds: { column: { since: minutesAgo(3), error: null } },
      oldestMs: 42_000,
    });
    const text = readOf(aHealthyDaemon({ serving }));
    expect(text).toContain(
      "Between two syncs source.changes.column works since 2026-03-01 11:59:30 (3 min ago) POST /sync accepted",
    );
    expect(text).toContain("POST /sync accepted Longest wait now 42 s");
    expect(text).not.toContain("source.changes.channel");
  });

  test("are served by another instance while this one stands by", () => {
    const serving = aServingState({ feeds: { column: null }, oldestMs: 42_000 });
    const text = readOf(aHealthyDaemon({ serving, standby: aStandby }));
    expect(text).toContain("source.changes.column off Another instance holds the lease");
    expect(text).toContain("POST /sync handed on to the instance that holds the lease");
    expect(text).not.toContain("Longest wait");
  });
});

test("a way that doesn't work says since when, why, and what helps", () => {
  const error = {
    code: "CHANGES_NOT_HEARD",
    message: "no notification <b> arrives",
    hint: "write a direct url",
  };
  const feeds = { column: anAliveFeed(), channel: aBrokenFeed(minutesAgo(5), error) };
  expect(readOf(aHealthyDaemon({ serving: aServingState({ feeds }) }))).toContain(
    "source.changes.channel broken since 2026-03-01 11:57:30 (5 min ago). CHANGES_NOT_HEARD: no notification <b> arrives ; write a direct url",
  );
});

const DAY = 86_400_000;

test.each<[LedgerSnapshot["tooOld"], string]>([
  [null, "The oldest token is 86 days old. There is no rotation.max_age ."],
  [{ maxAgeMs: 90 * DAY, tokens: 0 }, "rotation.max_age is 90 days: no token that a sync rotates is older."],
  [{ maxAgeMs: DAY / 2, tokens: 1 }, "rotation.max_age is 12 h: 1 token that a sync rotates is older ."],
  [
    { maxAgeMs: 60 * DAY, tokens: 12_000 },
    "rotation.max_age is 60 days: 12 000 tokens that a sync rotates are older .",
  ],
])("the ages of the tokens are compared with rotation.max_age (%#)", (tooOld, text) => {
  expect(readOf(aHealthyDaemon({ ledger: aHealthySnapshot({ tooOld }) }))).toContain(text);
});
