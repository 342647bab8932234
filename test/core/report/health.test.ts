import { expect, test } from "vitest";
import { NOBODY_MISSING } from "../../../src/core/deletion/missing-tenants.ts";
import { clockDifference } from "../../../src/core/plan/read-history.ts";
import { type Counts, noCounts, type RunOutcome } from "../../../src/core/report/counts.ts";
import {
  type HealthFacts,
  healthOf,
  type Verdict,
  wasForgottenSince,
} from "../../../src/core/report/health.ts";
import { aRejection } from "../../builders/groups.ts";

type PastRun = HealthFacts["runs"][number];

const aRun = (outcome: RunOutcome, counts: Partial<Counts> = {}, command = "sync"): PastRun => ({
  command,
  result: { outcome, counts: { ...noCounts(), ...counts }, error: null },
});
const missing = (count: number): HealthFacts["missing"] => ({
  ...{ count, due: count, owned: 40, allowed: 4 },
  toBeHeld: count > 4 ? count : 0,
});
const UNENDED: PastRun = { command: "sync", result: null };
const failed = (code: string, message: string, command = "sync"): PastRun => ({
  command,
  result: { outcome: "failed", counts: noCounts(), error: { code, message } },
});
const FAILED = failed("X", "no route to db");
const HANDED_OVER = failed("LEASE_HANDED_OVER", "handed over");
const INTERRUPTED = failed("INTERRUPTED", "told to stop");
const REFUSED = failed("KEY_REFUSED", "HTTP 401", "rotate");
const CLOCKS_DIFFER: PastRun = {
  command: "sync",
  result: { outcome: "partial", counts: noCounts(), error: clockDifference(26 * 3_600_000) },
};
const someFacts = (overrides: Partial<HealthFacts>): HealthFacts => ({
  groups: { failing: 0, in_doubt: 0, wanted: 0 },
  rejected: [],
  held: null,
  refreshHold: null,
  oldestWaitMs: 0,
  silentMs: 0,
  missing: missing(0),
  runs: [aRun("ok")],
  unanswered: null,
  lease: null,
  ...overrides,
});

const REJECTED = [{ ...aRejection(), rows: 2, since: new Date(0) }];
const WANTED = { groups: { failing: 0, in_doubt: 0, wanted: 2 } };
const HOUR = 3_600_000;
const REFRESH_HOLD = { changed: 6, owned: 40, allowed: 4, approval: "0123456789ab" };
const REFRESH_HELD = {
  code: "REFRESH_HELD",
  message: "the refresh is held: 5 groups were gone; 1 group is not asked for",
};

test.each<[string, Partial<HealthFacts>, Verdict["kind"], sentence: string]>([
  ["no run yet", { runs: [] }, "empty", "Nothing has been synced yet."],
  [
    "a probe after a forgotten scope",
    { runs: [aRun("ok", {}, "probe"), aRun("ok", {}, "forget")], missing: NOBODY_MISSING },
    "empty",
    "Nothing has been synced yet.",
  ],
  ["a good sync", {}, "well", "All is well."],
  [
    "a service that gave its last good answer too long ago",
    { silentMs: 3 * HOUR },
    "silent",
    "Needs attention: the service has given no good answer for 3 h 0 min.",
  ],
  ["a run under way", { runs: [UNENDED, aRun("ok")], lease: {} }, "running", "A run is going on."],
  ["a run without an end and without a lease", { runs: [UNENDED] }, "killed", "was killed"],
  ["a failed sync", { runs: [FAILED] }, "failed", "The last sync failed: no route to db"],
  [
    "a good sync since the service made a run fail, without a good answer",
    { unanswered: REFUSED },
    "unanswered",
    "The service made a rotate fail, and has given no good answer since: HTTP 401",
  ],
  ["the run that the service made fail", { unanswered: REFUSED, runs: [REFUSED] }, "failed", "HTTP 401"],
  [
    "another failure since the service made a run fail",
    { unanswered: REFUSED, runs: [FAILED, REFUSED] },
    "failed",
    "no route to db",
  ],
  [
    "a sync that was told to stop since the service made a run fail",
    { unanswered: REFUSED, runs: [INTERRUPTED, REFUSED] },
    "unanswered",
    "HTTP 401",
  ],
  [
    "a sync that made room for a rotation",
    { runs: [aRun("ok", {}, "rotate"), HANDED_OVER, aRun("ok")] },
    "well",
    "All is well.",
  ],
  [
    "a sync whose clock differs from the ledger's",
    { runs: [aRun("partial", {}, "rotate"), CLOCKS_DIFFER] },
    "clocks",
    "Needs attention: the clock of this host is 26 h 0 min ahead of",
  ],
  ["held removals", { held: { count: 2 } }, "held", "2 removals held"],
  [
    "a held refresh, as the last sync says as well",
    {
      refreshHold: REFRESH_HOLD,
      runs: [{ command: "sync", result: { outcome: "held", counts: noCounts(), error: REFRESH_HELD } }],
    },
    "refresh",
    "Needs attention: the refresh is held: 6 groups were gone at the service in 24 hours or had another token, and deletion.limit allows 4 of 40 groups.",
  ],
  ["many missing tenants", { missing: missing(5) }, "missing", "5 of 40 groups"],
  ["as many as allowed", { missing: missing(4) }, "well", "All is well."],
  ["a failing group", { groups: { failing: 1, in_doubt: 0, wanted: 0 } }, "failing", "1 failing group"],
  ["a group in doubt", { groups: { failing: 0, in_doubt: 1, wanted: 0 } }, "in_doubt", "1 group in doubt"],
  ["a new token that is wanted", WANTED, "wanted", "2 new tokens wanted"],
  [
    "new tokens that a rotation is at work on",
    { ...WANTED, runs: [{ ...UNENDED, command: "rotate" }, aRun("ok")], lease: {} },
    "running",
    "A run is going on.",
  ],
  ["rejected rows", { rejected: REJECTED }, "rejected", "2 rejected rows"],
  [
    "a group that failed in the last sync, of which the ledger doesn't know",
    { runs: [aRun("partial", { failed: 1 })] },
    "failing",
    "1 failing group",
  ],
  [
    "a group that failed in a rotation after a good sync, of which the ledger doesn't know",
    { runs: [aRun("partial", { failed: 1 }, "rotate"), aRun("ok")] },
    "failing",
    "1 failing group",
  ],
  [
    "a group that failed in the last full sync, and not in a later one of this tenant",
    { runs: [aRun("ok", {}, "sync --only"), aRun("partial", { failed: 1 })] },
    "well",
    "All is well.",
  ],
  [
    "a tenant that has been waiting for more than a minute",
    { oldestWaitMs: 61_000 },
    "waiting",
    "Needs attention: a tenant has been waiting for 1 min 1 s.",
  ],
  ["a tenant that waits", { oldestWaitMs: 60_000 }, "well", "All is well."],
  [
    "a good rotation after a sync",
    { runs: [aRun("ok", {}, "rotate"), aRun("ok", { outdated: 1 })] },
    "outdated",
    "1 outdated group",
  ],
])("%s", (_, facts, kind, sentence) => {
  expect(healthOf(someFacts(facts))).toEqual([
    expect.objectContaining({ kind, sentence: expect.stringContaining(sentence) }),
  ]);
});

const WRONG = {
  groups: { failing: 26, in_doubt: 0, wanted: 0 },
  rejected: REJECTED,
  held: { count: 191 },
  missing: missing(5),
};

test.each<[string, Partial<HealthFacts>, readonly Verdict["kind"][]]>([
  ["a failed run", { runs: [FAILED] }, ["failed", "held", "missing", "rejected", "failing"]],
  ["a run that was killed", { runs: [UNENDED] }, ["killed", "held", "missing", "rejected", "failing"]],
  [
    "a run that was killed after one that the service made fail",
    { runs: [UNENDED], unanswered: REFUSED },
    ["killed", "unanswered", "held", "missing", "rejected", "failing"],
  ],
  ["a run under way", { runs: [UNENDED], lease: {} }, ["held", "missing", "rejected", "failing", "running"]],
  [
    "a run under way after one that failed",
    { runs: [UNENDED, FAILED], lease: {} },
    ["failed", "held", "missing", "rejected", "failing", "running"],
  ],
  ["a good run", {}, ["held", "missing", "rejected", "failing"]],
])("%s hides nothing else that is wrong", (_, facts, kinds) => {
  const verdicts = healthOf(someFacts({ ...WRONG, ...facts }));
  expect(verdicts.map(({ kind }) => kind)).toEqual(kinds);
});

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

test("a sync that goes on doesn't hide wanted tokens", () => {
  const verdicts = healthOf(someFacts({ ...WANTED, runs: [UNENDED, aRun("ok")], lease: {} }));
  expect(verdicts.map(({ kind }) => kind)).toEqual(["wanted", "running"]);
});
