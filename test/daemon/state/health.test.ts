import { expect, test } from "vitest";
import { noCounts } from "../../../src/core/report/counts.ts";
import { pastRuns, readiness } from "../../../src/daemon/state/health.ts";
import {
  aBrokenWay,
  aDaemonState,
  aLedgerSnapshot,
  anAliveWay,
  aRunSummary,
  aServingState,
} from "../../builders/daemon-state.ts";
import { aFinishedRun, aHealthyDaemon } from "../a-healthy-daemon.ts";

const NOW = new Date("2026-03-01T12:00:00Z");
const ago = (ms: number): Date => new Date(NOW.getTime() - ms);
const HOUR = 3_600_000;
const STALE = { staleAt: ago(HOUR), lastGoodSync: ago(2 * HOUR) };
const OLD = "the last sync that reached its end was 2 h 0 min ago, and has been too old for 1 h 0 min";
const CHANNEL =
  "source.changes.channel has not worked for 1 min 1 s, so what it would notice waits for the next full sync: SOURCE_UNAVAILABLE";

const aRun = (code?: string) => ({
  ...aRunSummary(
    code === undefined ? {} : { outcome: "failed", error: { code, message: "the database is away" } },
  ),
  run: null,
  startedAt: ago(2_000),
  finishedAt: ago(1_000),
});

test.each<[string, Parameters<typeof aDaemonState>[0], boolean, string]>([
  ["nothing is known yet", {}, false, "no sync has reached its end yet"],
  [
    "the first one has failed",
    { lastRun: aRun("LEDGER_UNAVAILABLE") },
    false,
    "no sync has reached its end yet: LEDGER_UNAVAILABLE",
  ],
  [
    "the last one is recent",
    { lastGoodSync: ago(61_000), lastRun: aRun() },
    true,
    "the last sync that reached its end was 1 min 1 s ago",
  ],
  [
    "it is just not too old",
    { staleAt: NOW, lastGoodSync: ago(60_000) },
    true,
    "the last sync that reached its end was 1 min 0 s ago",
  ],
  [
    "it is just too old",
    { staleAt: ago(1), lastGoodSync: ago(60_001) },
    false,
    "the last sync that reached its end was 1 min 0 s ago, and has been too old for 1 ms",
  ],
  [
    "a later one has failed, and it is recent all the same",
    { lastGoodSync: ago(1_000), lastRun: aRun("LEDGER_UNAVAILABLE") },
    true,
    "the last sync that reached its end was 1.0 s ago; the last run failed: LEDGER_UNAVAILABLE",
  ],
  [
    "a single tenant has failed since, which the ledger's snapshot is too old to know",
    { lastGoodSync: ago(1_000), lastRun: aRun(), serving: aServingState({ failing: 1 }) },
    true,
    "the last sync that reached its end was 1.0 s ago\nNeeds attention: 1 failing group.",
  ],
  ["it is too old, and later ones fail", { ...STALE, lastRun: aRun("X") }, false, `${OLD}: X`],
  ["it is too old, and nobody knows why", { ...STALE, lastRun: aRun() }, false, OLD],
  [
    "another instance is at work, and ends nothing",
    {
      ...STALE,
      lastRun: aRun("X"),
      standby: { since: ago(HOUR), message: "another instance is at work: pod-2" },
    },
    false,
    `${OLD}: another instance holds the lease`,
  ],
  [
    "another instance does well",
    { lastGoodSync: ago(0), standby: { since: ago(HOUR), message: "another instance is at work" } },
    true,
    "the last sync that reached its end was 0 ms ago",
  ],
  [
    "another machine's clock is ahead",
    { lastGoodSync: ago(-5_000) },
    true,
    "the last sync that reached its end was 0 ms ago",
  ],
  [
    "a way of noticing tenants is broken, and full syncs are well",
    {
      lastGoodSync: ago(1_000),
      serving: aServingState({ ways: { channel: aBrokenWay(ago(61_000)) } }),
    },
    true,
    `the last sync that reached its end was 1.0 s ago\n${CHANNEL}`,
  ],
  [
    "a way of noticing tenants is broken, and the last sync is too old",
    {
      ...STALE,
      serving: aServingState({ ways: { column: anAliveWay(), channel: aBrokenWay(ago(61_000)) } }),
    },
    false,
    `${OLD}\n${CHANNEL}`,
  ],
  [
    "a tenant waits and a group fails, and full syncs are well",
    {
      lastGoodSync: ago(1_000),
      serving: aServingState({ oldestMs: 61_000 }),
      lastRun: { ...aRun(), outcome: "partial", counts: { ...noCounts(), failed: 1 } },
    },
    true,
    "the last sync that reached its end was 1.0 s ago\nNeeds attention: a tenant has been waiting for 1 min 1 s.\nNeeds attention: 1 failing group.",
  ],
  [
    "another instance serves, and only this one thinks that a tenant waits",
    {
      lastGoodSync: ago(1_000),
      serving: aServingState({ oldestMs: 61_000 }),
      standby: { since: ago(HOUR), message: "another instance is at work" },
    },
    true,
    "the last sync that reached its end was 1.0 s ago",
  ],
  [
    "no way is broken",
    {
      lastGoodSync: ago(1_000),
      serving: aServingState({ ways: { column: anAliveWay(), channel: null } }),
    },
    true,
    "the last sync that reached its end was 1.0 s ago",
  ],
])("%s", (_, known, isReady, reason) => {
  expect(readiness(aDaemonState(known), NOW)).toEqual({ isReady, reason });
});

test.each<[string, boolean, number, number, Parameters<typeof aDaemonState>[0]]>([
  ["two hours", false, 2 * HOUR, 900_000, {}],
  ["longer", true, 2 * HOUR + 1, 900_000, {}],
  ["longer, and syncs are rare", false, 25 * HOUR, 24 * HOUR, {}],
  ["longer than rare syncs need", true, 25 * HOUR + 1, 24 * HOUR, {}],
  [
    "longer, and another instance asks",
    false,
    3 * HOUR,
    900_000,
    { standby: { since: ago(HOUR), message: "" } },
  ],
])(
  "a service that has given no good answer for %s: whether that is told",
  (_, isTold, ms, staleMs, state) => {
    const times = { lastGoodSync: ago(0), staleAt: ago(-staleMs), lastAnswer: ago(ms) };
    const { isReady, reason } = readiness(
      aDaemonState({ ledger: aLedgerSnapshot(), ...times, ...state }),
      NOW,
    );
    expect(isReady).toBe(true);
    expect(reason.includes("Needs attention: the service has given no good answer for ")).toBe(isTold);
  },
);

test("a run has the duration that the log has, without the wait for the lease", () => {
  const finishedAt = new Date("2026-03-01T12:01:00Z");
  const lastRun = aFinishedRun({
    startedAt: new Date("2026-03-01T12:00:00Z"),
    finishedAt,
    durationMs: 405,
  });
  const [last] = pastRuns(aHealthyDaemon({ lastRun, ledger: null }));
  expect(last?.startedAt).toEqual(new Date(finishedAt.getTime() - 405));
});
