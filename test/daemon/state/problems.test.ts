import { describe, expect, test } from "vitest";
import { noCounts } from "../../../src/core/report/counts.ts";
import { readiness } from "../../../src/daemon/pages.ts";
import { pastRuns } from "../../../src/daemon/state/health-of-state.ts";
import { problemsOf } from "../../../src/daemon/state/problems.ts";
import type { DaemonState } from "../../../src/daemon/state/state.ts";
import {
  aBrokenFeed,
  aDaemonState,
  aLedgerSnapshot,
  aServingState,
  someGroups,
} from "../../builders/daemon-state.ts";
import { aRejection } from "../../builders/groups.ts";
import {
  aFailingGroup,
  aFinishedRun,
  aHealthyDaemon,
  aHealthySnapshot,
  anUnfinishedRun,
  aPastRun,
  hoursAgo,
  minutesAgo,
  NOW,
  secondsAgo,
} from "../a-healthy-daemon.ts";
import { aBadEnd, aCurrentRun, afterSync, aStandby } from "../status-page/shown-page.ts";

/** With an own history, of which this process knows nothing. */
const aRestarted = (ledger: Parameters<typeof aHealthySnapshot>[0]): DaemonState =>
  aHealthyDaemon({ lastRun: null, ledger: aHealthySnapshot(ledger) });

const aStale = (overrides: Partial<DaemonState> = {}): DaemonState =>
  aHealthyDaemon({ lastGoodSync: hoursAgo(3), ...overrides });

const rejected = [{ ...aRejection({ rows: 12_000 }), since: minutesAgo(3) }];
const drifted = { drift: { token: 1, gone: 1, name: 0 } };

test.each<[string, DaemonState, kind: string, text: string]>([
  [
    "groups fail",
    afterSync({}, 2),
    "failing",
    "Needs attention: 2 failing groups. Groups that fail are tried",
  ],
  [
    "rows are rejected",
    afterSync({}, 0, rejected),
    "rejected",
    "Needs attention: 12000 rejected rows. The groups of rejected rows stay as they are until somebody corrects the rows.",
  ],
  [
    "changed groups are left alone",
    afterSync({ outdated: 3 }),
    "outdated",
    "Needs attention: 3 outdated groups. groupsync plan names these groups",
  ],
  [
    "removals are held",
    aRestarted({
      held: { count: 2, code: "0123456789ab", groups: [] },
      runs: [aPastRun({ counts: { held: 2 } })],
    }),
    "held",
    "Needs attention: 2 removals held. Look at the source first: are these tenants really gone?",
  ],
  [
    "no code approves what is held",
    aHealthyDaemon({
      lastRun: aFinishedRun({
        outcome: "held",
        counts: { ...noCounts(), held: 9 },
        error: {
          code: "SOURCE_INCONCLUSIVE",
          message: "the source returned no valid row",
          hint: "check source.table",
        },
      }),
    }),
    "held",
    "Needs attention: the source returned no valid row. Check source.table.",
  ],
  [
    "the last run failed",
    aHealthyDaemon({ lastRun: aFinishedRun({ error: { ...aBadEnd, hint: "is it up?" } }) }),
    "failed",
    "The last sync failed: the service doesn't answer Is it up? It is tried again in 2 min 30 s; nothing is lost",
  ],
  [
    "an earlier process's last run failed",
    aRestarted({ runs: [aPastRun({ error: aBadEnd })] }),
    "failed",
    "The last sync failed: the service doesn't answer It is tried again",
  ],
  [
    "the last run failed, and one goes on",
    aHealthyDaemon({ lastRun: aFinishedRun({ error: aBadEnd }), current: aCurrentRun }),
    "failed",
    "The last sync failed: the service doesn't answer Another run is going on now.",
  ],
  [
    "the last run was told to stop",
    aRestarted({ runs: [aPastRun({ error: { code: "INTERRUPTED", message: "told to stop" } })] }),
    "stopped",
    "The last sync failed: told to stop It is tried again",
  ],
  [
    "nobody gets the messages",
    aHealthyDaemon({
      unreached: [
        { key: "notify.webhook", since: minutesAgo(3), message: "HTTP 500" },
        { key: "notify.heartbeat", since: minutesAgo(2), message: "HTTP 404" },
      ],
    }),
    "unreached",
    "Needs attention: notify.webhook and notify.heartbeat were not reached. notify.webhook, since 3 min 0 s ago: HTTP 500. notify.heartbeat, since 2 min 0 s ago: HTTP 404. Nobody was told",
  ],
  [
    "the config in the file is rejected",
    aHealthyDaemon({
      rejectedConfig: {
        since: minutesAgo(3),
        code: "CONFIG_INVALID",
        message: "config.yaml has 1 problem:\n  line 7  schedul: unknown key",
        hint: "config.example.yaml explains every key",
      },
    }),
    "config",
    "Needs attention: the new config was rejected, and the old one stays in force. CONFIG_INVALID: config.yaml has 1 problem: line 7  schedul: unknown key Config.example.yaml explains every key. Since 3 min 0 s ago",
  ],
  [
    "the service made an earlier run fail, and has given no good answer since",
    aRestarted({ unanswered: aPastRun({ startedAt: minutesAgo(20), error: aBadEnd }) }),
    "failed",
    "The service made a sync fail, and has given no good answer since: the service doesn't answer Whatever ran since then had",
  ],
  [
    "the last run was killed",
    aRestarted({ runs: [anUnfinishedRun()] }),
    "killed",
    "The last run was killed;",
  ],
  [
    "the ledger went away before the end could be written down",
    aHealthyDaemon({
      lastRun: aFinishedRun({ error: aBadEnd }),
      ledger: aHealthySnapshot({ runs: [anUnfinishedRun()] }),
    }),
    "failed",
    "The last sync failed: the service doesn't answer",
  ],
  ["the ledger is gone", aHealthyDaemon({ ledger: null }), "ledger", "The ledger cannot be read."],
  ["no sync was good for long", aStale(), "stale", "No sync has reached its end for 3 h 0 min. The log says"],
  [
    "the next sync waits for single tenants at a slow service",
    aStale({ queued: { calls: 780, reason: "the service allows about 30/min" } }),
    "stale",
    "No sync has reached its end for 3 h 0 min. The next sync begins once the tenants that are served singly are done. 780 calls wait for the service: the service allows about 30/min.",
  ],
  [
    "a run waits for hours",
    aStale({
      current: { ...aCurrentRun, waiting: { until: minutesAgo(-1), reason: "a token store asks to wait" } },
    }),
    "stale",
    "No sync has reached its end for 3 h 0 min. The run that goes on waits: a token store asks to wait.",
  ],
  [
    "no sync was ever good",
    aDaemonState({ startedAt: hoursAgo(1) }),
    "stale",
    "No sync has reached its end in the 1 h 0 min since the start.",
  ],
  [
    "the other instance has not been good for long",
    aStale({ standby: aStandby }),
    "stale",
    "No sync has reached its end for 3 h 0 min. Another instance holds the lease",
  ],
  [
    "a feed of noticing tenants has been broken for a minute",
    aHealthyDaemon({ serving: aServingState({ feeds: { column: aBrokenFeed(minutesAgo(1)) } }) }),
    "unnoticed",
    "Needs attention: source.changes.column doesn't work. Full syncs find what is missed",
  ],
  [
    "somebody else changes groups",
    aHealthyDaemon({
      ledger: aHealthySnapshot({
        history: [aPastRun({ counts: drifted }), aPastRun({ counts: drifted, startedAt: hoursAgo(25) })],
      }),
    }),
    "drift",
    "Needs attention: 2 changes by somebody else found at the service within 24 hours. Find out who",
  ],
])("if %s, that is the problem", (_, state, kind, text) => {
  const [problem, ...others] = problemsOf(state, NOW);
  expect(others).toEqual([]);
  expect(problem?.kind).toBe(kind);
  expect([problem?.sentence, ...(problem?.advice ?? [])].join(" ").slice(0, text.length)).toBe(text);
});

test.each<[string, DaemonState]>([
  ["tenants are gone", aHealthyDaemon()],
  [
    "a single tenant got a good answer since the ledger was read",
    {
      ...aRestarted({ unanswered: aPastRun({ startedAt: minutesAgo(20), error: aBadEnd }) }),
      lastAnswer: minutesAgo(1),
    },
  ],
  [
    "another instance has repaired what this one could not",
    aHealthyDaemon({ lastRun: aFinishedRun({ run: "4710", error: aBadEnd, startedAt: hoursAgo(1) }) }),
  ],
  [
    "a run goes on after one that was told to stop",
    {
      ...aRestarted({ runs: [aPastRun({ error: { code: "INTERRUPTED", message: "told to stop" } })] }),
      current: aCurrentRun,
    },
  ],
  [
    "a feed of noticing tenants has been broken for less than a minute",
    aHealthyDaemon({ serving: aServingState({ feeds: { column: aBrokenFeed(secondsAgo(59)) } }) }),
  ],
  [
    "another instance serves, and only this one thinks that a tenant waits",
    aHealthyDaemon({ serving: aServingState({ oldestMs: 61_000 }), standby: aStandby }),
  ],
])("nothing is wrong if %s", (_, state) => {
  expect(problemsOf(state, NOW)).toEqual([]);
});

test("no problem hides another one, and the worst come first", () => {
  const ledger = aHealthySnapshot({
    groups: someGroups({ total: 383, failing: 26, missing: 9 }),
    held: { count: 2, code: "0123456789ab", groups: [] },
    failing: [aFailingGroup()],
    rejected,
    missing: { count: 0, due: 90, toBeHeld: 90, owned: 383, allowed: 38 },
  });
  const state = aHealthyDaemon({
    lastRun: aFinishedRun({ error: aBadEnd }),
    lastGoodSync: hoursAgo(3),
    serving: aServingState({ oldestMs: 61_000, feeds: { column: aBrokenFeed(minutesAgo(5)) } }),
    ledger,
  });
  expect(problemsOf(state, NOW).map(({ kind, see }) => [kind, see])).toEqual([
    ["failed", undefined],
    ["stale", undefined],
    ["waiting", "serving"],
    ["held", "held"],
    ["missing", undefined],
    ["rejected", "rejected"],
    ["failing", "failing"],
    ["unnoticed", "serving"],
  ]);
});

describe("readiness", () => {
  const OLD = "the last sync that reached its end was 3 h 0 min ago, and has been too old for 2 h 45 min";

  test.each<[string, Partial<DaemonState>, boolean, string]>([
    ["nothing is known yet", { lastGoodSync: null }, false, "no sync has reached its end yet"],
    [
      "the last one is recent",
      { lastGoodSync: secondsAgo(61) },
      true,
      "the last sync that reached its end was 1 min 1 s ago",
    ],
    [
      "it is just not too old",
      { lastGoodSync: secondsAgo(60), staleAt: NOW },
      true,
      "the last sync that reached its end was 1 min 0 s ago",
    ],
    ["it is too old", { lastGoodSync: hoursAgo(3) }, false, OLD],
    [
      "it is too old, and another instance is at work",
      { lastGoodSync: hoursAgo(3), standby: aStandby },
      false,
      `${OLD}: another instance holds the lease`,
    ],
    [
      "another machine's clock is ahead",
      { lastGoodSync: secondsAgo(-5) },
      true,
      "the last sync that reached its end was 0 ms ago",
    ],
    [
      "a later one has failed with a tenant's text, and a single tenant fails",
      {
        lastGoodSync: secondsAgo(60),
        lastRun: aFinishedRun({ error: { ...aBadEnd, message: 'invalid input: "Acme"' } }),
        serving: aServingState({ failing: 1 }),
      },
      true,
      "the last sync that reached its end was 1 min 0 s ago\nThe last sync failed: SERVICE_UNAVAILABLE\nNeeds attention: 1 failing group.",
    ],
  ])("if %s", (_, known, isReady, reason) => {
    expect(readiness(aHealthyDaemon(known), NOW)).toEqual({ isReady, reason });
  });
});

const HOUR = 3_600_000;

test.each<[string, boolean, number, number, Partial<DaemonState>]>([
  ["two hours", false, 2 * HOUR, 900_000, {}],
  ["longer", true, 2 * HOUR + 1, 900_000, {}],
  ["longer, and syncs are rare", false, 25 * HOUR, 24 * HOUR, {}],
  ["longer than rare syncs need", true, 25 * HOUR + 1, 24 * HOUR, {}],
  ["longer, and another instance asks", false, 3 * HOUR, 900_000, { standby: aStandby }],
])(
  "a service has given no good answer for %s: whether that is a problem",
  (_, isReported, ms, staleMs, state) => {
    const before = (ago: number): Date => new Date(NOW.getTime() - ago);
    const times = { lastGoodSync: NOW, staleAt: before(-staleMs), lastAnswer: before(ms) };
    const problems = problemsOf(aDaemonState({ ledger: aLedgerSnapshot(), ...times, ...state }), NOW);
    expect(problems.map(({ kind }) => kind)).toEqual(isReported ? ["silent"] : []);
  },
);

test("a run has the duration that the log has, without the wait for the lease", () => {
  const finishedAt = new Date("2026-03-01T12:01:00Z");
  const lastRun = aFinishedRun({ startedAt: hoursAgo(1), finishedAt, durationMs: 405 });
  const [last] = pastRuns(aHealthyDaemon({ lastRun, ledger: null }));
  expect(last?.startedAt).toEqual(new Date(finishedAt.getTime() - 405));
});
