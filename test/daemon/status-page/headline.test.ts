import { describe, expect, test } from "vitest";
import { noCounts } from "../../../src/core/report/counts.ts";
import type { DaemonState } from "../../../src/daemon/state/state.ts";
import { headlinesOf } from "../../../src/daemon/status-page/headline.ts";
import { aBrokenWay, aServingState } from "../../builders/daemon-state.ts";
import { aRejection } from "../../builders/groups.ts";
import {
  aFailingGroup,
  aFinishedRun,
  aFreshDaemon,
  aHealthyDaemon,
  aHealthySnapshot,
  aHealthyStatus,
  anUnfinishedRun,
  aPastRun,
  hoursAgo,
  minutesAgo,
  NOW,
} from "../a-healthy-daemon.ts";
import { aBadEnd, aCurrentRun, afterSync, aStandby, headlineOf, pageOf } from "./shown-page.ts";

describe("the headline", () => {
  const aHeldState = aHealthyDaemon({
    lastRun: null,
    ledger: aHealthySnapshot({
      status: aHealthyStatus({
        held: { count: 2, code: "0123456789ab", groups: [] },
        runs: [aPastRun({ counts: { held: 2 } })],
      }),
    }),
  });
  const anInconclusiveState = aHealthyDaemon({
    lastRun: aFinishedRun({
      outcome: "held",
      counts: { ...noCounts(), held: 9 },
      error: {
        code: "SOURCE_INCONCLUSIVE",
        message: "the source returned no valid row",
        hint: "check source.table",
      },
    }),
  });

  test.each<[string, DaemonState, tone: string, text: string]>([
    ["all is well", afterSync({}), "good", "All is well. 370 of 383 groups are in sync."],
    [
      "all is well but for tenants that are gone",
      aHealthyDaemon(),
      "good",
      "All is well. 381 of 383 groups are in sync; the tenants of 2 are gone.",
    ],
    [
      "nothing has happened yet",
      aFreshDaemon(),
      "idle",
      "Nothing has been synced yet. The first sync is due in 3 min.",
    ],
    [
      "nothing is known of the ledger yet",
      aFreshDaemon({ ledger: null }),
      "idle",
      "Nothing has been synced yet.",
    ],
    [
      "the first run goes on",
      aFreshDaemon({ current: aCurrentRun }),
      "busy",
      "A run is going on. It is the first",
    ],
    [
      "a run waits for the lease",
      aHealthyDaemon({ current: { ...aCurrentRun, run: null } }),
      "busy",
      "A run is about to begin. All was well after the last one.",
    ],
    [
      "a run goes on",
      aHealthyDaemon({ current: aCurrentRun }),
      "busy",
      "A run is going on. All was well after",
    ],
    [
      "another instance is at work",
      aHealthyDaemon({ standby: aStandby }),
      "idle",
      "Standing by: another instance is at work. This one takes over",
    ],
    ["it stops", aHealthyDaemon({ nextRun: null }), "idle", "It has been told to stop."],
    [
      "groups are failing",
      afterSync({}, 2, [{ ...aRejection(), since: minutesAgo(3) }]),
      "attention",
      "Needs attention: 1 rejected row and 2 failing groups. Groups that fail are tried again by themselves. Why groups fail, and the next tries · Which rows are rejected",
    ],
    [
      "rows are rejected",
      afterSync({}, 0, [{ ...aRejection({ rows: 12_000 }), since: minutesAgo(3) }]),
      "attention",
      "Needs attention: 12 000 rejected rows. The groups of rejected rows stay as they are until somebody corrects the rows. Which rows are rejected, and the reasons",
    ],
    [
      "changed groups are left alone",
      afterSync({ outdated: 3 }),
      "attention",
      "Needs attention: 3 outdated groups. groupsync plan names these groups",
    ],
    [
      "removals are held",
      aHeldState,
      "attention",
      "Needs attention: 2 removals held. Look at the source first: are these tenants really gone?",
    ],
    [
      "no code approves what is held",
      anInconclusiveState,
      "attention",
      "Needs attention: the source returned no valid row. Check source.table.",
    ],
    [
      "the last run failed",
      aHealthyDaemon({ lastRun: aFinishedRun({ error: { ...aBadEnd, hint: "is it up?" } }) }),
      "bad",
      "The last sync failed: the service doesn't answer Is it up? It is tried again in 3 min; nothing is lost",
    ],
    [
      "an earlier process's last run failed",
      aHealthyDaemon({
        lastRun: null,
        ledger: aHealthySnapshot({ status: aHealthyStatus({ runs: [aPastRun({ error: aBadEnd })] }) }),
      }),
      "bad",
      "The last sync failed: the service doesn't answer It is tried again",
    ],
    [
      "another instance has repaired what this one could not",
      aHealthyDaemon({ lastRun: aFinishedRun({ run: "4710", error: aBadEnd, startedAt: hoursAgo(1) }) }),
      "good",
      "All is well.",
    ],
    [
      "the last run failed, and one goes on",
      aHealthyDaemon({ lastRun: aFinishedRun({ error: aBadEnd }), current: aCurrentRun }),
      "bad",
      "The last sync failed: the service doesn't answer Another run is going on now.",
    ],
    [
      "a run goes on after one that was told to stop",
      aHealthyDaemon({
        lastRun: null,
        current: aCurrentRun,
        ledger: aHealthySnapshot({
          status: aHealthyStatus({
            runs: [aPastRun({ error: { code: "INTERRUPTED", message: "told to stop" } })],
          }),
        }),
      }),
      "busy",
      "A run is going on. It goes on from where the last one was told to stop.",
    ],
    [
      "nobody hears of it",
      aHealthyDaemon({
        unreached: [
          { key: "notify.webhook", since: minutesAgo(3), message: "HTTP 500" },
          { key: "notify.heartbeat", since: minutesAgo(2), message: "HTTP 404" },
        ],
      }),
      "attention",
      "Needs attention: notify.webhook and notify.heartbeat were not reached. notify.webhook, since 3 min ago: HTTP 500. notify.heartbeat, since 2 min ago: HTTP 404. Nobody was told what they had to say. Syncs go on all the same; groupsync check --notify sends a test to both.",
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
      "attention",
      "Needs attention: the new config was rejected, and the old one stays in force. CONFIG_INVALID: config.yaml has 1 problem: line 7 schedul: unknown key Config.example.yaml explains every key. Since 3 min ago",
    ],
    [
      "the last run was killed",
      aHealthyDaemon({
        lastRun: null,
        ledger: aHealthySnapshot({ status: aHealthyStatus({ runs: [anUnfinishedRun()] }) }),
      }),
      "bad",
      "The last run was killed; the next one settles what it left.",
    ],
    [
      "the ledger went away before the end could be written down",
      aHealthyDaemon({
        lastRun: aFinishedRun({ error: aBadEnd }),
        ledger: aHealthySnapshot({ status: aHealthyStatus({ runs: [anUnfinishedRun()] }) }),
      }),
      "bad",
      "The last sync failed: the service doesn't answer",
    ],
    ["the ledger is gone since", aHealthyDaemon({ ledger: null }), "bad", "The ledger cannot be read."],
    [
      "the ledger was never there",
      aHealthyDaemon({
        ledger: null,
        lastRun: aFinishedRun({
          run: null,
          error: { code: "LEDGER_UNAVAILABLE", message: "cannot open the ledger" },
        }),
      }),
      "bad",
      "The last sync failed: cannot open the ledger",
    ],
    [
      "no sync was good for long",
      aHealthyDaemon({ lastGoodSync: hoursAgo(3) }),
      "bad",
      "No sync has reached its end for 3 h. The log says",
    ],
    [
      "the next sync waits for single tenants at a slow service",
      aHealthyDaemon({
        lastGoodSync: hoursAgo(3),
        queued: { calls: 780, reason: "the service allows about 30/min" },
      }),
      "bad",
      "No sync has reached its end for 3 h. The next sync begins once the tenants that are served singly are done. 780 calls wait for the service: the service allows about 30/min.",
    ],
    [
      "a run waits for the service for hours",
      aHealthyDaemon({
        lastGoodSync: hoursAgo(3),
        current: { ...aCurrentRun, total: 9 },
        queued: { calls: 1, reason: "8 calls are under way, as many as may be" },
      }),
      "bad",
      "No sync has reached its end for 3 h. 1 call waits for the service: 8 calls are under way, as many as may be.",
    ],
    [
      "a run has been waiting for something else for hours",
      aHealthyDaemon({
        lastGoodSync: hoursAgo(3),
        current: {
          ...aCurrentRun,
          waiting: { until: minutesAgo(-1), reason: "the token store is busy" },
        },
      }),
      "bad",
      "No sync has reached its end for 3 h. The run that goes on waits: the token store is busy.",
    ],
    [
      "no sync was ever good",
      aFreshDaemon({ startedAt: hoursAgo(1) }),
      "bad",
      "No sync has reached its end in the 1 h since the start.",
    ],
    [
      "the other instance has not been good for long",
      aHealthyDaemon({ lastGoodSync: hoursAgo(50), standby: aStandby }),
      "bad",
      "No sync has reached its end for 2 days. Another instance holds the lease",
    ],
  ])("where %s", (_, state, tone, text) => {
    const [shownTone, shownText = ""] = headlineOf(state);
    expect(shownTone).toBe(tone);
    expect(shownText.slice(0, text.length)).toBe(text);
  });

  test("hides nothing else that is wrong", () => {
    const status = aHealthyStatus({
      groups: { total: 383, in_sync: 0, under_way: 0, failing: 26, missing: 9, unverified: 0 },
      held: { count: 2, code: "0123456789ab", groups: [] },
      failing: [aFailingGroup()],
      rejected: [{ ...aRejection(), since: minutesAgo(3) }],
    });
    const state = aHealthyDaemon({
      lastRun: aFinishedRun({ error: aBadEnd }),
      lastGoodSync: hoursAgo(3),
      serving: aServingState({ ways: { column: aBrokenWay(minutesAgo(5)) } }),
      ledger: aHealthySnapshot({
        status,
        missing: { count: 0, due: 90, toBeHeld: 90, owned: 383, allowed: 38 },
      }),
    });
    expect(headlinesOf(state, NOW).map(({ tone, sentence, see }) => [tone, sentence, ...see])).toEqual([
      ["bad", "The last sync failed: the service doesn't answer"],
      ["bad", "No sync has reached its end for 3\u00a0h."],
      ["attention", "Needs attention: 2 removals held.", "held"],
      [
        "attention",
        "Needs attention: the tenants of 90 of 383 groups are gone, and deletion.limit lets 38 go in 24 hours: 90 deletions will be held when the grace period is over.",
      ],
      ["attention", "Needs attention: 1 rejected row and 26 failing groups.", "failing", "rejected"],
      ["attention", "Needs attention: source.changes.column doesn't work.", "serving"],
    ]);
    const page = pageOf(state);
    const order = ["held", "failing", "rejected", "serving", "runs", "groups", "about"];
    const places = order.map((id) => page.indexOf(`<h2 id="${id}"`));
    expect(places.every((place) => place > page.lastIndexOf('<div class="headline'))).toBe(true);
    expect(places).toEqual(places.toSorted((a, b) => a - b));
  });

  test("is the title, too", () => {
    expect(pageOf(aHealthyDaemon({ name: "eu" }))).toContain("<title>All is well. – groupsync eu</title>");
  });
});
