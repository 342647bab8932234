import { NOBODY_MISSING } from "../../core/deletion/missing-tenants.ts";
import { LONGEST_SILENCE } from "../../core/drift/refresh.ts";
import { rejectedRows } from "../../core/group/rejections.ts";
import { type HealthFacts, healthOf, type Verdict } from "../../core/report/health.ts";
import { durationText } from "../../core/text/quantity.ts";
import type { RecordedRun } from "../../ports/ledger/scope.ts";
import { brokenWaysOf, type DaemonState, type FinishedRun } from "./state.ts";

interface Readiness {
  readonly isReady: boolean;
  /** For an operator to read. It has codes only: a database's message may quote a tenant's text, and anybody may ask. */
  readonly reason: string;
}

/**
 * Ready means that the last sync that reached its end, on any instance, ended so lately that `staleAt` is not over. Whatever else is
 * wrong changes nothing about that: one group that fails must not hide from a monitor that nothing is synced any more. The
 * reason tells it.
 */
export function readiness(state: DaemonState, now: Date): Readiness {
  const { isReady, reason } = ofSyncs(state, now);
  const wrong = healthOf(healthFacts(state, now)).flatMap(({ kind, sentence }) =>
    TOLD_OTHERWISE.has(kind) ? [] : [`\n${sentence}`],
  );
  const broken = brokenWaysOf(state.serving).map(
    ({ key, since, error }) =>
      `\n${key} has not worked for ${durationText(age(since, now))}, so what it would notice waits for the next full sync: ${error.code}`,
  );
  return { isReady, reason: reason + [...wrong, ...broken].join("") };
}

/** What is no trouble, and a failed run, whose sentence quotes its error. */
const TOLD_OTHERWISE: ReadonlySet<Verdict["kind"]> = new Set(["failed", "empty", "running", "well"]);

function ofSyncs({ lastGoodSync, staleAt, lastRun, standby }: DaemonState, now: Date): Readiness {
  const failure = lastRun?.outcome === "failed" ? lastRun.error?.code : undefined;
  const why = standby ? "another instance holds the lease" : failure;
  const because = why === undefined ? "" : `: ${why}`;
  if (lastGoodSync === null) return { isReady: false, reason: `no sync has reached its end yet${because}` };
  const ago = age(lastGoodSync, now);
  const ended = `the last sync that reached its end was ${durationText(ago)} ago`;
  if (now <= staleAt) {
    const since = failure === undefined || standby ? "" : `; the last run failed: ${failure}`;
    return { isReady: true, reason: ended + since };
  }
  return {
    isReady: false,
    reason: `${ended}, and has been too old for ${durationText(age(staleAt, now))}${because}`,
  };
}

const age = (since: Date, now: Date): number => Math.max(0, now.getTime() - since.getTime());

/** What the daemon knows of the health of its scope. */
export function healthFacts(state: DaemonState, now: Date): HealthFacts {
  // While this instance stands by, another one serves.
  const servedHere = state.standby ? null : state.serving;
  return {
    // The ledger is read after each run, and single tenants fail between two.
    groups: { failing: Math.max(state.ledger?.status.groups.failing ?? 0, servedHere?.failing ?? 0) },
    rejected: rejectedRows(state.ledger?.status.rejected ?? []),
    held: state.ledger?.status.held ?? null,
    refreshHold: state.ledger?.refreshHold ?? null,
    missing: state.ledger?.missing ?? NOBODY_MISSING,
    lease: state.ledger?.status.lease ?? null,
    oldestWaitMs: servedHere?.oldestMs ?? 0,
    silentMs: silentMs(state, now),
    runs: pastRuns(state),
  };
}

/** A daemon asks after an hour, or with its next sync: by then it has asked twice, or is stale. */
function silentMs(
  { standby, ledger, lastAnswer, startedAt, lastGoodSync, staleAt }: DaemonState,
  now: Date,
): number {
  if (standby || ledger?.status.service.teamId == null) return 0;
  const ms = now.getTime() - (lastAnswer ?? startedAt).getTime();
  const syncsWithinMs = staleAt.getTime() - (lastGoodSync ?? startedAt).getTime();
  return ms > LONGEST_SILENCE + Math.max(LONGEST_SILENCE, syncsWithinMs) ? ms : 0;
}

/** A finished or killed run, from this process's memory or from the ledger. */
export interface PastRun extends RecordedRun {
  /** What the operator can do about the run's error; empty if unknown. */
  readonly hint: string;
}

/**
 * The last runs, newest first. For the last run of this process, its memory replaces what the ledger has: it knows the
 * hint, and also how the run ended if the ledger was out of reach at the end.
 */
export function pastRuns({ ledger, lastRun }: DaemonState): readonly PastRun[] {
  const recorded = (ledger?.status.runs ?? []).map((run) => ({ ...run, hint: "" }));
  if (!lastRun) return recorded;
  const own = asPast(lastRun);
  if (recorded.some(({ id }) => id === own.id)) return recorded.map((run) => (run.id === own.id ? own : run));
  const [newest] = recorded;
  return newest && newest.startedAt > lastRun.startedAt ? recorded : [own, ...recorded];
}

/** With the duration that the log has. */
const asPast = (run: FinishedRun): PastRun => ({
  id: run.run ?? "",
  command: run.command,
  startedAt: new Date(run.finishedAt.getTime() - run.durationMs),
  finishedAt: run.finishedAt,
  result: run,
  hint: run.error?.hint ?? "",
});
