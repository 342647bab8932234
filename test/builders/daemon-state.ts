import { NOBODY_MISSING } from "../../src/core/deletion/missing-tenants.ts";
import type { FailureWithHint } from "../../src/core/failure/sync-error.ts";
import { groupSums } from "../../src/core/record/group-sums.ts";
import { noCounts } from "../../src/core/report/counts.ts";
import type {
  DaemonState,
  FeedState,
  LedgerStatus,
  ServingFacts,
} from "../../src/core/report/scope-facts.ts";
import type { RecordedRun } from "../../src/ports/ledger/scope.ts";
import type { RunSummary } from "../../src/ports/observer.ts";

const STARTED_AT = new Date("2026-03-01T00:00:00Z");

/** How many groups the ledger has in each state: none, unless `some` says so. */
export const someGroups = (some: Partial<LedgerStatus["groups"]> = {}): LedgerStatus["groups"] => ({
  ...groupSums([]).counts,
  ...some,
});

/** A daemon that has just started, and knows nothing yet. */
export const aDaemonState = (overrides: Partial<DaemonState> = {}): DaemonState => ({
  version: "1.2.3",
  name: "default",
  startedAt: STARTED_AT,
  configReadAt: STARTED_AT,
  reachedAt: {},
  schedule: "*/5 * * * *",
  timezone: "UTC",
  nextRun: new Date("2026-03-01T00:05:00Z"),
  current: null,
  standby: null,
  lastRun: null,
  lastGoodSync: null,
  lastAnswer: null,
  // A quarter of an hour after the last good sync, or the start.
  staleAt: new Date((overrides.lastGoodSync ?? overrides.startedAt ?? STARTED_AT).getTime() + 900_000),
  configPath: "/etc/groupsync/config.yaml",
  docsUrl: null,
  skippedRuns: 0,
  rejectedConfig: null,
  unreached: [],
  queued: null,
  serving: null,
  ledger: null,
  ...overrides,
});

/** Both ways of noticing work, and nobody waits. */
export const aServingState = (overrides: Partial<ServingFacts> = {}): ServingFacts => ({
  feeds: { column: anAliveFeed(), channel: anAliveFeed() },
  takesRequests: true,
  oldestMs: 0,
  failing: 0,
  ...overrides,
});

export const anAliveFeed = (workedAt = new Date("2026-03-01T00:00:00Z")): FeedState => ({
  workedAt,
  failure: null,
});

export const aBrokenFeed = (
  since = new Date("2026-03-01T00:00:00Z"),
  overrides: Partial<FailureWithHint> = {},
): FeedState => ({
  workedAt: null,
  failure: { since, code: "SOURCE_UNAVAILABLE", message: "cannot reach db.internal", ...overrides },
});

type CurrentRun = NonNullable<DaemonState["current"]>;

export const aCurrentRun = (overrides: Partial<CurrentRun> = {}): CurrentRun => ({
  since: new Date("2026-03-01T00:00:00Z"),
  run: "1",
  done: 0,
  total: 0,
  waiting: null,
  ...overrides,
});

/** All is in sync. */
export const aLedgerStatus = (overrides: Partial<LedgerStatus> = {}): LedgerStatus => ({
  readAt: STARTED_AT,
  groups: someGroups({ total: 1, in_sync: 1 }),
  oldestToken: new Date("2026-02-01T00:00:00Z"),
  oldestUnsynced: null,
  owing: [],
  tokenless: new Set(),
  tokensVerifiedAt: null,
  tables: { tokens: ["public.groupsync_tokens"], ledger: "public.groupsync_*" },
  held: null,
  failing: [],
  rejected: [],
  runs: [],
  failedByService: null,
  names: new Map(),
  missing: NOBODY_MISSING,
  refreshHold: null,
  tooOld: null,
  lease: null,
  service: {
    baseUrl: "https://dashboards.example.com",
    teamId: 1,
    answeredAt: null,
    updates: null,
  },
  ...overrides,
});

/** A sync that changed nothing. */
export const aRecordedRun = (overrides: Partial<RecordedRun> = {}): RecordedRun => ({
  id: "1",
  command: "sync",
  startedAt: STARTED_AT,
  finishedAt: new Date("2026-03-01T00:00:01Z"),
  result: { outcome: "ok", counts: { ...noCounts(), unchanged: 1 }, requests: 0, error: null },
  ...overrides,
});

export const aRunSummary = (overrides: Partial<RunSummary> = {}): RunSummary => ({
  command: "sync",
  outcome: "ok",
  counts: { ...noCounts(), unchanged: 1 },
  requests: 0,
  durationMs: 1_000,
  error: null,
  ...overrides,
});
