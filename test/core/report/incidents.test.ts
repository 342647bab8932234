import { expect, test } from "vitest";
import type { Failure } from "../../../src/core/failure/sync-error.ts";
import { clockDifference } from "../../../src/core/plan/read-history.ts";
import { incidentsOfState, wellCard } from "../../../src/core/report/incidents.ts";
import { type DaemonState, factsOf, type LedgerStatus } from "../../../src/core/report/scope-facts.ts";
import { aBrokenFeed, aDaemonState, aServingState, someGroups } from "../../builders/daemon-state.ts";
import { aRejection } from "../../builders/groups.ts";
import {
  aFinishedRun,
  aFreshDaemon,
  aHealthyDaemon,
  aHealthySnapshot,
  anUnfinishedRun,
  aPastRun,
  hoursAgo,
  minutesAgo,
  NOW,
  secondsAgo,
} from "../../daemon/a-healthy-daemon.ts";
import { aBadEnd, aCurrentRun, afterSync, aStandby } from "../../daemon/status-page/shown-page.ts";

/** A daemon that has just begun, so that it knows the ledger only. The newest run first. */
const withLedger = (ledger: Partial<LedgerStatus>, state: Partial<DaemonState> = {}): DaemonState =>
  aHealthyDaemon({ lastRun: null, ledger: aHealthySnapshot(ledger), ...state });
const withGroups = (groups: Parameters<typeof someGroups>[0], runs = [aPastRun()], lease = {}): DaemonState =>
  withLedger({ groups: someGroups({ total: 383, ...groups }), runs, ...lease });
const aStale = (state: Partial<DaemonState> = {}): DaemonState =>
  aHealthyDaemon({ lastGoodSync: hoursAgo(3), ...state });
const lease = {
  lease: { holder: "pod-1", epoch: "1", acquiredAt: NOW, expiresAt: NOW, handOverMs: null },
};
const failed = (code: string, message: string) => aPastRun({ error: { code, message } });
const held = (error: Failure & { hint?: string }): DaemonState =>
  aHealthyDaemon({ lastRun: aFinishedRun({ error, outcome: "held" }) });
const INTERRUPTED = failed("INTERRUPTED", "told to stop");
const HANDED_OVER = failed("LEASE_HANDED_OVER", "handed over");
const KEY_REFUSED = aPastRun({
  startedAt: minutesAgo(20),
  error: { code: "KEY_REFUSED", message: "HTTP 401" },
});
const REJECTED = [{ ...aRejection({ rows: 12_000 }), since: minutesAgo(3) }];
const HELD = { count: 2, code: "0123456789ab", groups: [] };
const REFRESH_HOLD = { changed: 6, owned: 40, allowed: 4, approval: "0123456789ab" };
const drifted = { drift: { token: 1, gone: 1, name: 0 } };
const aWait = (oldestMs: number) => aHealthyDaemon({ serving: aServingState({ oldestMs }) });
const aFeed = (since: Date) =>
  aHealthyDaemon({ serving: aServingState({ feeds: { column: aBrokenFeed(since) } }) });

test.each<[string, DaemonState, kind: string, text: string]>([
  [
    "groups fail",
    afterSync({}, 2),
    "failing",
    "Needs attention: 2 failing groups. Groups that fail are tried",
  ],
  [
    "a group failed in a rotation, and the ledger doesn't know",
    withLedger({ runs: [aPastRun({ command: "rotate", counts: { failed: 1 } }), aPastRun()] }),
    "failing",
    "Needs attention: 1 failing group.",
  ],
  [
    "a single tenant has failed since the ledger was read",
    aHealthyDaemon({ serving: aServingState({ failing: 1 }) }),
    "failing",
    "Needs attention: 1 failing group.",
  ],
  [
    "rows are rejected",
    afterSync({}, 0, REJECTED),
    "rejected",
    "Needs attention: 12000 rejected rows. The groups of rejected rows stay as they are",
  ],
  [
    "changed groups were left alone before a good rotation",
    withLedger({ runs: [aPastRun({ command: "rotate" }), aPastRun({ counts: { outdated: 3 } })] }),
    "outdated",
    "Needs attention: 3 outdated groups. The row has changed, but service.update",
  ],
  ["groups are in doubt", withGroups({ in_doubt: 1 }), "in_doubt", "Needs attention: 1 group in doubt"],
  [
    "new tokens are wanted, and a sync goes on",
    withGroups({ wanted: 2 }, [anUnfinishedRun(), aPastRun()], lease),
    "wanted",
    "Needs attention: 2 new tokens wanted. Somebody has asked for these rotations.",
  ],
  [
    "many tenants are missing",
    withLedger({ missing: { count: 5, due: 5, toBeHeld: 5, owned: 40, allowed: 4 } }),
    "missing",
    "Needs attention: the tenants of 5 of 40 groups are gone",
  ],
  [
    "removals are held",
    withLedger({ held: HELD }),
    "held",
    "Needs attention: 2 removals held. Look at the source first: are these tenants really gone?",
  ],
  [
    "only replacements are held",
    withLedger({ held: { ...HELD, groups: [{ kind: "replace", user_group_id: "a" }] } }),
    "held",
    "Needs attention: 2 removals held. Each of these groups gets a new token",
  ],
  [
    "the last run held removals, and the ledger could not be read since",
    {
      ...held({ code: "DELETIONS_HELD", message: "2 deletions are held" }),
      ledger: aHealthySnapshot({ runs: [anUnfinishedRun()] }),
    },
    "held",
    "Needs attention: 2 deletions are held. Look at the source first",
  ],
  [
    "no code approves what is held",
    held({ code: "SOURCE_INCONCLUSIVE", message: "the source returned no valid row", hint: "check it" }),
    "held",
    "Needs attention: the source returned no valid row. Check it.",
  ],
  [
    "the refresh is held, as the last sync says as well",
    {
      ...held({ code: "REFRESH_HELD", message: "" }),
      ledger: aHealthySnapshot({ refreshHold: REFRESH_HOLD }),
    },
    "refresh",
    "Needs attention: the refresh is held: 6 groups were gone",
  ],
  [
    "this host's clock differs from the ledger's",
    held(clockDifference(26 * 3_600_000)),
    "clocks",
    "Needs attention: the clock of this host is 26 h 0 min ahead of",
  ],
  [
    "a tenant waits for long",
    aWait(61_000),
    "waiting",
    "Needs attention: a tenant has been waiting for 1 min 1 s.",
  ],
  [
    "the last run failed",
    aHealthyDaemon({ lastRun: aFinishedRun({ error: { ...aBadEnd, hint: "is it up?" } }) }),
    "failed",
    "The last sync failed: the service doesn't answer Is it up? It is tried again by itself; nothing is lost",
  ],
  [
    "the last run failed, and one goes on",
    aHealthyDaemon({ lastRun: aFinishedRun({ error: aBadEnd }), current: aCurrentRun }),
    "failed",
    "The last sync failed: the service doesn't answer Check service.base_url, DNS and TLS. It is tried again by itself",
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
  [
    "the last run failed, and the ledger was never read",
    aHealthyDaemon({ lastRun: aFinishedRun({ error: aBadEnd }), ledger: null }),
    "failed",
    "The last sync failed: the service doesn't answer",
  ],
  [
    "a run failed, and went on after it had handed the lease over",
    withLedger({ runs: [HANDED_OVER, failed("X", "no route to db")] }),
    "failed",
    "The last sync failed: no route to db",
  ],
  [
    "the last run was told to stop",
    withLedger({ runs: [INTERRUPTED] }),
    "stopped",
    "The last sync failed: told to",
  ],
  [
    "the service made an earlier run fail, and has given no good answer since",
    withLedger({ failedByService: KEY_REFUSED }),
    "failed",
    "The service made a sync fail, and has given no good answer since: HTTP 401 Whatever ran since then had",
  ],
  [
    "a sync was told to stop since the service made a run fail",
    withLedger({ failedByService: KEY_REFUSED, runs: [INTERRUPTED, KEY_REFUSED] }),
    "failed",
    "The service made a sync fail",
  ],
  [
    "another run failed since the service made one fail",
    withLedger({ failedByService: KEY_REFUSED, runs: [failed("X", "no route to db"), KEY_REFUSED] }),
    "failed",
    "The last sync failed: no route to db",
  ],
  [
    "the last run was killed",
    withLedger({ runs: [anUnfinishedRun({ command: "rotate" }), aPastRun()] }),
    "killed",
    "The last run was killed;",
  ],
  [
    "a full sync was killed before a good sync of one tenant",
    withLedger({
      runs: [aPastRun({ command: "sync --only" }), anUnfinishedRun({ startedAt: minutesAgo(4) })],
    }),
    "killed",
    "The last sync was killed;",
  ],
  ["the ledger is gone", aHealthyDaemon({ ledger: null }), "ledger", "The ledger cannot be read."],
  [
    "no sync was good for long",
    aStale(),
    "stale",
    "No sync has reached its end for 3 h 0 min. The log says what groupsync waits for.",
  ],
  [
    "no sync of the instance that has the lease was good for long",
    { ...aStale(), standby: aStandby },
    "stale",
    "No sync has reached its end for 3 h 0 min. Another instance holds the lease:",
  ],
  [
    "no sync was ever good",
    aDaemonState({ startedAt: hoursAgo(1) }),
    "stale",
    "No sync has reached its end in the 1 h 0 min since the start.",
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
    "Needs attention: notify.webhook and notify.heartbeat are not reached. notify.webhook: HTTP 500. notify.heartbeat: HTTP 404. Syncs go on",
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
    "Needs attention: the new config was rejected, and the old one stays in force. CONFIG_INVALID: config.yaml has 1 problem: line 7  schedul: unknown key Config.example.yaml explains every key. A restart",
  ],
  [
    "a feed of changed tenants has been broken for a minute",
    aFeed(minutesAgo(1)),
    "unnoticed",
    "Needs attention: source.changes.column is out of order. source.changes.column: cannot reach db.internal. Full syncs find what is missed",
  ],
  [
    "somebody else changes groups",
    withLedger({
      runs: [aPastRun({ counts: drifted }), aPastRun({ counts: drifted, startedAt: hoursAgo(25) })],
    }),
    "drift",
    "Needs attention: 2 changes by somebody else found at the service within 24 hours. Find out who",
  ],
])("if %s, that is what is wrong", (_, state, kind, text) => {
  const [incident, ...others] = incidentsOfState(state, NOW);
  expect(others).toEqual([]);
  expect(incident?.kind).toBe(kind);
  expect([incident?.sentence, ...(incident?.advice ?? [])].join(" ").slice(0, text.length)).toBe(text);
});

test.each<[string, DaemonState]>([
  [
    "as many tenants are gone as may go",
    withLedger({ missing: { count: 4, due: 4, toBeHeld: 0, owned: 40, allowed: 4 } }),
  ],
  ["a sync made room for a rotation", withLedger({ runs: [HANDED_OVER, aPastRun()] })],
  [
    "a run held removals that were all released since",
    held({ code: "DELETIONS_HELD", message: "2 deletions are held" }),
  ],
  [
    "a single tenant got a good answer since the ledger was read",
    withLedger({ failedByService: KEY_REFUSED }, { lastAnswer: minutesAgo(1) }),
  ],
  [
    "a later run got a good answer, by a clock that was set back since the service made one fail",
    withLedger(
      {
        failedByService: KEY_REFUSED,
        runs: [aPastRun({ id: "4712", counts: { created: 1 }, startedAt: hoursAgo(1) }), KEY_REFUSED],
      },
      { lastAnswer: hoursAgo(1) },
    ),
  ],
  [
    "another instance has repaired what this one could not",
    aHealthyDaemon({ lastRun: aFinishedRun({ id: "4710", error: aBadEnd, finishedAt: hoursAgo(1) }) }),
  ],
  [
    "a run goes on after one that was told to stop",
    withLedger({ runs: [INTERRUPTED] }, { current: aCurrentRun }),
  ],
  [
    "a run goes on after one that was killed",
    withLedger({ runs: [anUnfinishedRun()] }, { current: aCurrentRun }),
  ],
  [
    "a rotation is at work on wanted tokens",
    withGroups({ wanted: 2 }, [anUnfinishedRun({ command: "rotate" }), aPastRun()], lease),
  ],
  [
    "a group failed in the last full sync, and not in a later one of its tenant",
    withLedger({ runs: [aPastRun({ command: "sync --only" }), aPastRun({ counts: { failed: 1 } })] }),
  ],
  ["a feed of changed tenants has been broken for less than a minute", aFeed(secondsAgo(59))],
  ["a tenant waits for a minute", aWait(60_000)],
  [
    "another instance serves, and only this one thinks that a tenant waits",
    { ...aWait(61_000), standby: aStandby },
  ],
])("nothing is wrong if %s", (_, state) => {
  expect(incidentsOfState(state, NOW)).toEqual([]);
});

const WRONG: Partial<LedgerStatus> = {
  groups: someGroups({ total: 383, failing: 26, in_doubt: 1, wanted: 1, missing: 9 }),
  held: HELD,
  refreshHold: REFRESH_HOLD,
  rejected: REJECTED,
  missing: { count: 0, due: 90, toBeHeld: 90, owned: 383, allowed: 38 },
};
const OF_GROUPS = ["held", "refresh", "missing", "rejected", "failing", "in_doubt", "wanted"];

test.each<[string, DaemonState, kinds: readonly string[]]>([
  ["a run that was killed", withLedger({ ...WRONG, runs: [anUnfinishedRun()] }), ["killed", ...OF_GROUPS]],
  [
    "a run that was killed after one that the service made fail",
    withLedger({ ...WRONG, runs: [anUnfinishedRun()], failedByService: KEY_REFUSED }),
    ["killed", "failed", ...OF_GROUPS],
  ],
  [
    "a failed run, at a daemon with which all is wrong",
    {
      ...withLedger({ ...WRONG, runs: [failed("X", "")] }),
      staleAt: minutesAgo(1),
      serving: aServingState({ oldestMs: 61_000, feeds: { column: aBrokenFeed(minutesAgo(5)) } }),
    },
    ["failed", "stale", "waiting", ...OF_GROUPS, "unnoticed"],
  ],
])("%s hides nothing, and the worst comes first", (_, state, kinds) => {
  expect(incidentsOfState(state, NOW).map(({ kind }) => kind)).toEqual(kinds);
});

const HOUR = 3_600_000;

test.each<[string, boolean, number, number, Partial<DaemonState>]>([
  ["two hours", false, 2 * HOUR, 900_000, {}],
  ["longer", true, 2 * HOUR + 1, 900_000, {}],
  ["longer, and syncs are rare", false, 25 * HOUR, 24 * HOUR, {}],
  ["longer than rare syncs need", true, 25 * HOUR + 1, 24 * HOUR, {}],
  ["longer, and another instance asks", false, 3 * HOUR, 900_000, { standby: aStandby }],
])("a service has given no good answer for %s: whether that is wrong", (_, isWrong, ms, staleMs, state) => {
  const before = (ago: number): Date => new Date(NOW.getTime() - ago);
  const times = { lastGoodSync: NOW, staleAt: before(-staleMs), lastAnswer: before(ms) };
  const incidents = incidentsOfState(aHealthyDaemon({ ...times, ...state }), NOW);
  expect(incidents.map(({ kind }) => kind)).toEqual(isWrong ? ["silent"] : []);
});

test.each<[string, DaemonState, tone: string, text: string]>([
  ["all is in sync", afterSync({}), "good", "All is well. 370 of 383 groups are in sync."],
  [
    "some are gone",
    aHealthyDaemon(),
    "good",
    "All is well. 381 of 383 groups are in sync; the tenants of 2 are gone.",
  ],
  [
    "nothing has happened yet",
    aFreshDaemon(),
    "idle",
    "Nothing has been synced yet. The first sync is due in 2 min 30 s.",
  ],
  [
    "a probe came after a forgotten scope",
    withGroups({ total: 0 }, [aPastRun({ command: "probe" }), aPastRun({ command: "forget" })]),
    "idle",
    "Nothing has been synced yet. The first",
  ],
  [
    "the first run goes on",
    aFreshDaemon({ current: aCurrentRun }),
    "busy",
    "A run is going on. It is the first one.",
  ],
  [
    "a run waits for the lease",
    aHealthyDaemon({ current: { ...aCurrentRun, run: null } }),
    "busy",
    "A run is about to begin.",
  ],
  [
    "a command's run goes on",
    withLedger({ runs: [anUnfinishedRun()], ...lease }),
    "busy",
    "A run is going on.",
  ],
  [
    "another instance is at work",
    aHealthyDaemon({ standby: aStandby }),
    "idle",
    "Standing by: another instance is at work. This one takes over when the other one ends or its lease expires.",
  ],
  ["the daemon stops", aHealthyDaemon({ nextRun: null }), "idle", "It has been told to stop."],
])("if nothing is wrong and %s, that is said", (_, state, tone, text) => {
  const headline = wellCard(factsOf(state), NOW);
  expect(headline.tone).toBe(tone);
  expect([headline.sentence, ...headline.advice].join(" ").slice(0, text.length)).toBe(text);
});

const helpOf = (state: DaemonState): (readonly [string, string])[] =>
  incidentsOfState(state, NOW).flatMap(({ help }) =>
    help.map(({ when, command }) => [when, command] as const),
  );

test("a statement in an error's hint is to be copied alone", () => {
  const hint =
    'run as a user who may: CREATE TABLE x (a int); GRANT INSERT ON "t" TO "u"; or is the name wrong? The server says so';
  const state = aHealthyDaemon({ lastRun: aFinishedRun({ error: { ...aBadEnd, hint } }) });
  expect(incidentsOfState(state, NOW)[0]?.advice.slice(0, 2)).toEqual([
    "Run as a user who may.",
    "Or is the name wrong? The server says so.",
  ]);
  expect(helpOf(state)).toEqual([
    ["As a user of the database who may", 'CREATE TABLE x (a int); GRANT INSERT ON "t" TO "u"'],
  ]);
});

test("what is held comes with the command that approves it, or that shows the code", () => {
  const commands = (ledger: Partial<LedgerStatus>) =>
    helpOf(withLedger(ledger)).map(([, command]) => command);
  expect(commands({ held: HELD })).toEqual(["groupsync sync --approve-deletions 0123456789ab"]);
  expect(commands({ held: { ...HELD, code: null } })).toEqual(["groupsync plan"]);
  expect(commands({ refreshHold: REFRESH_HOLD })).toEqual([
    "groupsync sync --refresh --approve-refresh 0123456789ab",
  ]);
});

test("it is said since when syncs fail in the same way, and which tenants wait for their first token", () => {
  const refused = (hours: number, code = "KEY_REFUSED") =>
    aPastRun({ startedAt: hoursAgo(hours), tookMs: 0, error: { code, message: "" } });
  const runs = [
    refused(1),
    anUnfinishedRun({ startedAt: hoursAgo(2) }),
    refused(3),
    refused(4, "X"),
    refused(5),
  ];
  const owing = ["new", "old"].map((user_group_id) => {
    return { user_group_id, owed: ["under way" as const], wantedSince: null };
  });
  const state = withLedger({ runs, owing, tokenless: new Set(["new"]) });
  expect(incidentsOfState(state, NOW)).toMatchObject([
    {
      ...{ kind: "failed", code: "KEY_REFUSED", since: hoursAgo(3) },
      concerned: { whom: "1 tenant, without any token", items: [{ tenants: ["new"] }] },
    },
  ]);
});

test("it is named who wants a new token, and since when", () => {
  const owing = [{ user_group_id: "a", owed: ["wanted" as const], wantedSince: hoursAgo(5) }];
  const state = withLedger({ groups: someGroups({ total: 9, wanted: 3 }), owing });
  expect(incidentsOfState(state, NOW)).toMatchObject([
    { kind: "wanted", since: hoursAgo(5), concerned: { items: [{ tenants: ["a"] }], more: 2 } },
  ]);
});
