import { noCounts } from "../../../src/core/report/counts.ts";
import type { DaemonState } from "../../../src/core/report/scope-facts.ts";
import { aBrokenFeed, anAliveFeed, aServingState, someGroups } from "../../builders/daemon-state.ts";
import { aRejection } from "../../builders/groups.ts";
import {
  aFailingGroup,
  aFinishedRun,
  aHealthyDaemon,
  aHealthySnapshot,
  aPastRun,
  minutesAgo,
  secondsAgo,
} from "../a-healthy-daemon.ts";

const failed = {
  code: "SERVICE_UNAVAILABLE",
  message: "cannot reach https://dashboards.example.com: connect ECONNREFUSED",
};
const manyFailing = Array.from({ length: 100 }, (_, index) =>
  aFailingGroup({
    user_group_id: `cus-${1042 + index * 7}`,
    count: 200 - index,
    retryAt: minutesAgo(index * 3 - 58),
  }),
);
const NAMES = new Map(
  Array.from({ length: 2_000 }, (_, index) => [`cus-${1000 + index}`, `Alderbrook Logistics ${index}`]),
);
const held = {
  count: 191,
  code: "4025bf58a4c4",
  groups: Array.from({ length: 100 }, (_, index) => ({
    kind: "delete" as const,
    user_group_id: `cus-${1203 + index}`,
  })),
};
const rejected = Array.from({ length: 40 }, (_, index) => ({
  ...aRejection({
    user_group_id: `cus-${1500 + index}`,
    message: `mapping.${40 + (index % 4)} (column data_source_id) is null`,
  }),
  since: minutesAgo(60 * index),
}));

/** A sync every five minutes for a day, with a bad hour and one that was not so good. */
const history = Array.from({ length: 288 }, (_, index) => {
  const counts = index > 100 && index < 110 ? { failed: 2 } : {};
  const error = index > 30 && index < 42 ? failed : null;
  return aPastRun({
    id: String(4711 - index),
    startedAt: minutesAgo(2.5 + 5 * index),
    tookMs: 400 + 30 * (index % 17),
    counts,
    error,
  });
});

/** What the page has to look well with: how a daemon is on a good day, at work, on the worst day, and with data that nobody expects. */
export const SCENES: Readonly<Record<string, DaemonState>> = {
  healthy: aHealthyDaemon({
    ...{ configReadAt: minutesAgo(17_280), reachedAt: { "notify.webhook": minutesAgo(1_000) } },
    ledger: aHealthySnapshot({ runs: history, tokensVerifiedAt: minutesAgo(700) }),
    serving: aServingState({
      feeds: { column: anAliveFeed(secondsAgo(1)) },
    }),
  }),

  everything: aHealthyDaemon({
    name: "eu-production",
    timezone: "Europe/Berlin",
    configPath: "/etc/groupsync/production-eu-central/config.yaml",
    docsUrl: "https://git.example.com/docs",
    lastGoodSync: minutesAgo(190),
    lastRun: aFinishedRun({
      error: { ...failed, hint: "is service.base_url right, and is the service up?" },
    }),
    serving: aServingState({
      feeds: {
        column: aBrokenFeed(minutesAgo(12), { message: "canceling statement due to statement timeout" }),
        channel: aBrokenFeed(minutesAgo(7)),
      },
      oldestMs: 42_000,
    }),
    ledger: aHealthySnapshot({
      names: NAMES,
      missing: { count: 60, due: 60, toBeHeld: 60, owned: 383, allowed: 38 },
      tooOld: { maxAgeMs: 60 * 86_400_000, tokens: 118 },
      groups: someGroups({
        total: 383,
        in_sync: 40,
        under_way: 12,
        failing: 200,
        missing: 251,
        unverified: 4,
      }),
      oldestUnsynced: minutesAgo(190),
      runs: history,
      tokenless: new Set(["cus-1042", "cus-1049"]),
      ...{ held, failing: manyFailing, rejected },
    }),
  }),

  /** docs/status-page.png is the picture of this one that the test leaves, on a desktop in light colours. */
  rejected: aHealthyDaemon({
    ...{
      name: "production",
      configReadAt: minutesAgo(17_280),
      reachedAt: { "notify.webhook": minutesAgo(180) },
    },
    lastRun: aFinishedRun({
      outcome: "partial",
      requests: 0,
      durationMs: 405,
      counts: { ...noCounts(), rejected: 2 },
    }),
    serving: aServingState({ feeds: { column: anAliveFeed(secondsAgo(1)) } }),
    ledger: aHealthySnapshot({
      names: new Map([
        ["cus-1042", "Alderbrook Logistics"],
        ["cus-1107", "Wintergreen Tea"],
      ]),
      rejected: ["cus-1042", "cus-1107"].map((user_group_id) => ({
        ...aRejection({ user_group_id, message: "mapping.40 (column warehouse) is null" }),
        since: minutesAgo(200),
      })),
      tokenless: new Set(["cus-1107"]),
      tokensVerifiedAt: minutesAgo(700),
      runs: Array.from({ length: 277 }, (_, index) =>
        aPastRun({
          id: String(4711 - index),
          startedAt: minutesAgo(2.5 + 5 * index),
          tookMs: 400 + 30 * (index % 17),
          counts: { rejected: index < 40 ? 2 : 0 },
        }),
      ),
    }),
  }),

  working: aHealthyDaemon({
    current: {
      run: "4712",
      since: secondsAgo(100),
      done: 3120,
      total: 10_000,
      waiting: { until: minutesAgo(-0.5), reason: "the service asked for it (429, Retry-After: 30)" },
    },
    skippedRuns: 1,
    serving: aServingState(),
  }),

  odd: aHealthyDaemon({
    name: "a-name.of_sixty-four-characters-which-is-as-long-as-a-name-may-be",
    schedule: "0,5,10,15,20,25,30,35,40,45,50,55 0-6,8-23 * 1,2,3,4,5,6,7,8,9,10,11,12 mon-fri",
    timezone: "America/Argentina/ComodRivadavia",
    standby: {
      message: `another instance is at work: ${"groupsync-7d9f8b6c5d-x2x4z.".repeat(6)}@4711, since 2026-03-01T12:00:00.000Z`,
    },
    lastRun: aFinishedRun({
      outcome: "partial",
      requests: 1_250_000,
      durationMs: 7_265_000,
      counts: {
        ...noCounts(),
        ...Object.fromEntries(Object.keys(noCounts()).map((key) => [key, 123_456])),
        held: 0,
      },
    }),
    serving: aServingState({
      feeds: { column: null, channel: aBrokenFeed(minutesAgo(1), { message: "word".repeat(400) }) },
    }),
    ledger: aHealthySnapshot({
      tooOld: { maxAgeMs: 90 * 86_400_000, tokens: 350_014 },
      names: new Map([
        ["x".repeat(255), "W".repeat(200)],
        ["شركة-الأمل-للتجارة-٤٢", "شركة الأمل للتجارة (ש.מ)"],
        ["<img src=x onerror=alert(1)>", "<b>\u202eeman a</b>"],
      ]),
      groups: someGroups({
        total: 1_000_000,
        in_sync: 876_543,
        under_way: 123,
        failing: 1_234,
        in_doubt: 12,
        wanted: 56,
        missing: 12_345,
        unverified: 999_999,
      }),
      runs: [aPastRun({ counts: { rejected: 12_345, failed: 1_234 } })],
      failing: [
        aFailingGroup({ user_group_id: "x".repeat(255), message: "word ".repeat(400) }),
        aFailingGroup({
          user_group_id: "شركة-الأمل-للتجارة-٤٢",
          message: "הקבוצה לא עודכנה \u202e gpj.exe",
        }),
        aFailingGroup({
          user_group_id: "<img src=x onerror=alert(1)>",
          message: "</style><script>alert(1)</script>",
        }),
        aFailingGroup({ user_group_id: "名前\u0000\n\t😀", message: "m".repeat(2_000), count: 12_345 }),
        aFailingGroup({ user_group_id: " ", message: "", retryAt: minutesAgo(1) }),
      ],
    }),
  }),
};
