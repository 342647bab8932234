import type { FailingGroup } from "../../src/core/failure/group-failures.ts";
import type { Failure } from "../../src/core/failure/sync-error.ts";
import { type Counts, noCounts, runOutcome } from "../../src/core/report/counts.ts";
import type { DaemonState, LedgerStatus, PastRun } from "../../src/core/report/scope-facts.ts";
import type { RecordedRun } from "../../src/ports/ledger/scope.ts";
import type { RunSummary } from "../../src/ports/observer.ts";
import {
  aDaemonState,
  aLedgerStatus,
  aRecordedRun,
  aRunSummary,
  someGroups,
} from "../builders/daemon-state.ts";

export const NOW = new Date("2026-03-01T12:02:30Z");
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export const secondsAgo = (count: number): Date => new Date(NOW.getTime() - count * SECOND);
export const minutesAgo = (count: number): Date => new Date(NOW.getTime() - count * MINUTE);
export const hoursAgo = (count: number): Date => new Date(NOW.getTime() - count * HOUR);
export const daysAgo = (count: number): Date => new Date(NOW.getTime() - count * DAY);

/** The last run took 405 ms. */
const FINISHED = new Date(minutesAgo(2.5).getTime() + 405);

/** A daemon that does well: all in sync after the scheduled time two minutes ago, nothing to do until the one to come. */
export const aHealthyDaemon = (overrides: Partial<DaemonState> = {}): DaemonState =>
  aDaemonState({
    startedAt: daysAgo(12),
    nextRun: minutesAgo(-2.5),
    lastRun: aFinishedRun(),
    lastGoodSync: FINISHED,
    lastAnswer: minutesAgo(30),
    ledger: aHealthySnapshot(),
    ...overrides,
  });

/** What a daemon knows before its first run. */
export const aFreshDaemon = (overrides: Partial<DaemonState> = {}): DaemonState =>
  aDaemonState({
    startedAt: secondsAgo(4),
    nextRun: minutesAgo(-2.5),
    ledger: aLedgerStatus({
      readAt: secondsAgo(3),
      groups: someGroups(),
      oldestToken: null,
      service: { baseUrl: null, teamId: null, updates: null, answeredAt: null },
    }),
    ...overrides,
  });

/** The last run of the daemon's own process. */
export function aFinishedRun({
  id = "4711",
  finishedAt = FINISHED,
  ...overrides
}: Partial<RunSummary & Pick<PastRun, "id" | "finishedAt">> = {}): PastRun {
  const counts = { ...noCounts(), unchanged: 383, ...overrides.counts };
  const outcome = overrides.error ? "failed" : runOutcome(counts);
  const result = { ...aRunSummary({ outcome, durationMs: 405 }), ...overrides, counts };
  const startedAt = new Date((finishedAt ?? FINISHED).getTime() - result.durationMs);
  return { id, command: result.command, startedAt, finishedAt, result };
}

export function aPastRun({
  counts = {},
  error = null,
  tookMs = 1_400,
  ...overrides
}: Partial<Omit<RecordedRun, "result">> & {
  counts?: Partial<Counts>;
  error?: Failure | null;
  tookMs?: number;
} = {}): RecordedRun {
  const all = { ...noCounts(), unchanged: 383, ...counts };
  const outcome = runOutcome(all) === "ok" && error ? "failed" : runOutcome(all);
  const startedAt = overrides.startedAt ?? minutesAgo(2.5);
  return aRecordedRun({
    id: "4711",
    startedAt,
    finishedAt: new Date(startedAt.getTime() + tookMs),
    result: { outcome, counts: all, requests: 2, error },
    ...overrides,
  });
}

/** Killed, or going on. */
export const anUnfinishedRun = (overrides: Partial<RecordedRun> = {}): RecordedRun => ({
  ...aPastRun(),
  finishedAt: null,
  result: null,
  ...overrides,
});

export const aHealthySnapshot = (overrides: Partial<LedgerStatus> = {}): LedgerStatus =>
  aLedgerStatus({
    readAt: FINISHED,
    groups: someGroups({ total: 383, in_sync: 381, missing: 2 }),
    oldestToken: daysAgo(86),
    runs: [aPastRun()],
    service: {
      baseUrl: "https://dashboards.example.com",
      teamId: 42,
      updates: true,
      answeredAt: null,
    },
    ...overrides,
  });

export const aFailingGroup = (overrides: Partial<FailingGroup> = {}): FailingGroup => ({
  user_group_id: "cus-1042",
  code: "NOT_UPDATED",
  message: 'the service still calls it "Alderbrook Logistics" and not "Alderbrook Freight"',
  count: 3,
  since: minutesAgo(190),
  retryAt: minutesAgo(-12),
  ...overrides,
});
