import { describe, expect, test } from "vitest";
import type { Fact, Section } from "../../../src/core/report/card.ts";
import { noCounts } from "../../../src/core/report/counts.ts";
import { type DaemonState, factsOf, type LedgerStatus } from "../../../src/core/report/scope-facts.ts";
import { scopeView } from "../../../src/core/report/sections.ts";
import { plainText } from "../../../src/core/text/printable.ts";
import { aBrokenFeed, aServingState, someGroups } from "../../builders/daemon-state.ts";
import {
  aFailingGroup,
  aFinishedRun,
  aHealthyDaemon,
  aHealthySnapshot,
  aPastRun,
  daysAgo,
  hoursAgo,
  minutesAgo,
  NOW,
  secondsAgo,
} from "../../daemon/a-healthy-daemon.ts";
import { aBadEnd, aCurrentRun, aStandby } from "../../daemon/status-page/shown-page.ts";

const said = ({ value, details = "", tone }: Fact): string =>
  [tone, plainText(value), plainText(details)].filter((part) => part).join(" | ");

/** What each fact of a section says, by its label. */
function factsIn(id: Section["id"], state: DaemonState): Record<string, string> {
  const section = scopeView(factsOf(state), NOW).sections.find((one) => one.id === id);
  return Object.fromEntries(section?.facts.map((fact) => [fact.label, said(fact)]) ?? []);
}

const WRITTEN = aPastRun({ id: "4700", counts: { created: 1 }, startedAt: hoursAgo(5) });
const ledgerOf = (ledger: Partial<LedgerStatus>): Partial<DaemonState> => ({
  ledger: aHealthySnapshot(ledger),
});

test.each<[what: string, name: string, state: Partial<DaemonState>, text: string]>([
  [
    "a sync has reached its end",
    "Source",
    { lastGoodSync: hoursAgo(3) },
    "good | read 2026-03-01T09:02:30.000Z",
  ],
  [
    "the source can't be read since",
    "Source",
    {
      lastGoodSync: hoursAgo(3),
      lastRun: aFinishedRun({ error: { code: "SOURCE_UNAVAILABLE", message: "no route" } }),
    },
    "bad | read 2026-03-01T09:02:30.000Z | SOURCE_UNAVAILABLE, 2026-03-01T12:00:00.405Z",
  ],
  [
    "nothing has shown that tokens can be written",
    "Tokens",
    {},
    "idle | not asked yet | public.groupsync_tokens",
  ],
  [
    "a run has written tokens",
    "Tokens",
    ledgerOf({ runs: [WRITTEN] }),
    "good | reached 2026-03-01T07:02:31.400Z | public.groupsync_tokens",
  ],
  [
    "all tokens were read later",
    "Tokens",
    ledgerOf({
      tokensVerifiedAt: hoursAgo(1),
      runs: [WRITTEN],
    }),
    "good | reached 2026-03-01T11:02:30.000Z | public.groupsync_tokens",
  ],
  [
    "the service has failed before its last answer",
    "Service",
    {
      ...{ lastAnswer: minutesAgo(1), lastRun: null },
      ...ledgerOf({
        runs: [aPastRun({ startedAt: hoursAgo(2), error: { code: "KEY_REFUSED", message: "" } })],
      }),
    },
    "good | answered 2026-03-01T12:01:30.000Z | last error KEY_REFUSED, 2026-03-01T10:02:31.400Z; dashboards.example.com, team 42",
  ],
  [
    "the service has failed before all runs that are told, and has answered since",
    "Service",
    {
      lastAnswer: minutesAgo(1),
      ...ledgerOf({
        failedByService: aPastRun({ startedAt: daysAgo(60), error: { code: "KEY_REFUSED", message: "" } }),
      }),
    },
    "good | answered 2026-03-01T12:01:30.000Z | dashboards.example.com, team 42",
  ],
  [
    "the service has failed before its last answer, and the clock was set back in between",
    "Service",
    {
      ...{ lastAnswer: minutesAgo(1), lastRun: null },
      ...ledgerOf({
        runs: [
          aPastRun({ id: "4712", startedAt: minutesAgo(2) }),
          aPastRun({ startedAt: daysAgo(-1), error: { code: "KEY_REFUSED", message: "" } }),
        ],
      }),
    },
    "good | answered 2026-03-01T12:01:30.000Z | last error KEY_REFUSED, 2026-03-01T12:00:31.400Z; dashboards.example.com, team 42",
  ],
  [
    "the service has failed since its last answer",
    "Service",
    { lastRun: aFinishedRun({ error: aBadEnd }) },
    "bad | answered 2026-03-01T11:32:30.000Z | SERVICE_UNAVAILABLE, 2026-03-01T12:00:00.405Z; dashboards.example.com, team 42",
  ],
  [
    "a feed works",
    "Changes (column)",
    { serving: aServingState() },
    "good | answered 2026-03-01T00:00:00.000Z",
  ],
  [
    "a feed is broken",
    "Changes (column)",
    { serving: aServingState({ feeds: { column: aBrokenFeed(minutesAgo(5)) } }) },
    "bad | fails | SOURCE_UNAVAILABLE, 2026-03-01T11:57:30.000Z",
  ],
  [
    "a feed has worked before it broke",
    "Changes (column)",
    {
      serving: aServingState({
        feeds: { column: { ...aBrokenFeed(minutesAgo(5)), workedAt: minutesAgo(6) } },
      }),
    },
    "bad | answered 2026-03-01T11:56:30.000Z | SOURCE_UNAVAILABLE, 2026-03-01T11:57:30.000Z",
  ],
  [
    "a store refuses the token of one group, and has taken others since",
    "Tokens",
    ledgerOf({
      failing: [aFailingGroup(), aFailingGroup({ code: "TOKEN_NOT_STORED", since: hoursAgo(7) })],
      runs: [WRITTEN],
    }),
    "attention | reached 2026-03-01T07:02:31.400Z | TOKEN_NOT_STORED, 2026-03-01T05:02:30.000Z; public.groupsync_tokens",
  ],
  [
    "nothing was sent yet",
    "Notifications",
    { reachedAt: { "notify.webhook": null } },
    "idle | not asked yet",
  ],
  [
    "the heartbeat arrives, and the webhook is dead",
    "Notifications",
    {
      reachedAt: { "notify.webhook": null, "notify.heartbeat": minutesAgo(2) },
      unreached: [{ key: "notify.webhook", since: minutesAgo(9), message: "HTTP 500" }],
    },
    "bad | reached 2026-03-01T12:00:30.000Z | NOTIFY_FAILED, 2026-03-01T11:53:30.000Z",
  ],
  ["the config is in force", "Config", { configReadAt: hoursAgo(9) }, "good | read 2026-03-01T03:02:30.000Z"],
  [
    "a new config is rejected",
    "Config",
    {
      configReadAt: hoursAgo(9),
      rejectedConfig: { since: minutesAgo(3), code: "CONFIG_INVALID", message: "" },
    },
    "attention | read 2026-03-01T03:02:30.000Z | CONFIG_INVALID, 2026-03-01T11:59:30.000Z",
  ],
])("of the dependencies, if %s: %s", (_, name, state, text) => {
  expect(factsIn("dependencies", aHealthyDaemon(state))[name]).toBe(text);
});

test("what the config doesn't have, and what a command can't know, is no dependency", () => {
  const facts = factsOf(aHealthyDaemon());
  const names = (of: typeof facts) => scopeView(of, NOW).sections[0]?.facts.map(({ label }) => label);
  expect(names(facts)).toEqual(["Source", "Ledger", "Tokens", "Service", "Config"]);
  expect(names({ ...facts, daemon: null })).toEqual(["Source", "Ledger", "Tokens", "Service"]);
});

describe("runs", () => {
  test("the last one says what it did, and the next one when it begins", () => {
    const counts = { ...noCounts(), created: 12, unchanged: 1 };
    const lastRun = aFinishedRun({ counts, requests: 12 });
    expect(factsIn("runs", aHealthyDaemon({ lastRun }))).toEqual({
      "Last run": "2026-03-01T12:00:00.000Z | sync ok: 12 created; 12 requests in 405 ms",
      "Next run": "2026-03-01T12:05:00.000Z | */5 * * * *",
      "Last good sync": "2026-03-01T12:00:00.405Z | too old from 2026-03-01T12:15:00.405Z",
    });
    expect(
      factsIn("runs", aHealthyDaemon({ lastRun: aFinishedRun({ error: aBadEnd }) }))["Last run"],
    ).toContain("sync failed: 0 requests in 405 ms; SERVICE_UNAVAILABLE: the service doesn't answer");
  });

  test("a good sync that is too old is told so", () => {
    expect(factsIn("runs", aHealthyDaemon({ lastGoodSync: hoursAgo(3) }))["Last good sync"]).toMatch(
      /^bad \| .* \| too old since /,
    );
  });

  test("the one that goes on says how far it is, and what it waits for", () => {
    const waiting = { until: secondsAgo(-30), reason: "the service asked for it" };
    const current = { ...aCurrentRun, since: minutesAgo(1), done: 2_500, total: 10_000, waiting };
    expect(factsIn("now", aHealthyDaemon({ current }))).toEqual({
      Work: "2500 of 10000 done, about 3 min 0 s left",
      Began: "2026-03-01T12:01:30.000Z",
      "Waits until": "2026-03-01T12:03:00.000Z: the service asked for it",
    });
    expect(factsIn("now", aHealthyDaemon({ current: aCurrentRun })).Work).toContain("reading the source");
    expect(factsIn("now", aHealthyDaemon({ current: { ...aCurrentRun, run: null } })).Work).toBe(
      "waiting for the lease",
    );
    expect(factsIn("now", aHealthyDaemon())).toEqual({});
    const queued = { calls: 780, reason: "the service allows about 30/min" };
    expect(factsIn("now", aHealthyDaemon({ queued }))).toEqual({
      Queue: "780 calls wait for the service: the service allows about 30/min",
    });
  });
});

test("groups are counted by state, without the zeros", () => {
  const groups = someGroups({ total: 1_000, in_sync: 990, in_doubt: 3, wanted: 2, missing: 5 });
  expect(factsIn("more", aHealthyDaemon(ledgerOf({ groups }))).Groups).toBe(
    "1000 in all, 990 in sync, 3 in doubt, 2 wanted, 5 missing",
  );
});

const lease = {
  ...{ epoch: "1", holder: "pod-1", handOverMs: null },
  ...{ acquiredAt: minutesAgo(3), expiresAt: minutesAgo(-1) },
};

test.each<[Partial<DaemonState>, string | undefined]>([
  [{}, "free"],
  [{ ledger: null }, undefined],
  [{ current: aCurrentRun }, "held by this instance"],
  [{ standby: aStandby }, "another instance is at work: pod-2"],
  [ledgerOf({ lease }), "pod-1, since 2026-03-01T11:59:30.000Z"],
])("who holds the lease is said (%#)", (state, text) => {
  expect(factsIn("more", aHealthyDaemon(state)).Lease).toBe(text);
});

test("while this instance stands by, another one serves single tenants", () => {
  const serving = aServingState({ feeds: { column: null }, oldestMs: 42_000 });
  const standby = aHealthyDaemon({ serving, standby: aStandby });
  expect(factsIn("dependencies", standby)["Changes (column)"]).toBe(
    "idle | not asked yet | this instance notices nobody now",
  );
  expect(factsIn("more", standby)["POST /sync"]).toContain("handed on");
  expect(factsIn("more", standby)["Longest wait now"]).toBeUndefined();
  expect(factsIn("more", aHealthyDaemon({ serving }))["Longest wait now"]).toBe("42 s");
});

const DAY = 86_400_000;

test.each<[LedgerStatus["tooOld"], string]>([
  [{ maxAgeMs: DAY, tokens: 1 }, "1 token that a sync rotates is older than rotation.max_age (24 h 0 min)"],
  [
    { maxAgeMs: DAY, tokens: 12 },
    "12 tokens that a sync rotates are older than rotation.max_age (24 h 0 min)",
  ],
])("the ages of the tokens are compared with rotation.max_age (%#)", (tooOld, text) => {
  expect(factsIn("more", aHealthyDaemon(ledgerOf({ tooOld })))["Oldest token"]).toContain(text);
});
