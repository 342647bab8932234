import { Counter, Histogram, type Registry } from "prom-client";
import { DRIFT_TEXT, type Drift } from "../../core/drift/drift.ts";
import { isInterruption } from "../../core/failure/sync-error.ts";
import type { RunOutcome } from "../../core/report/counts.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Observe, RunEvent, RunSummary } from "../../ports/observer.ts";
import type { Served } from "../../ports/serve-tenant.ts";

/** A run that was told to stop, or handed its lease over, counts as `interrupted`, not as failed. */
type Ending = RunOutcome | "interrupted";

const OUTCOMES: readonly Ending[] = ["ok", "partial", "held", "failed", "interrupted"];
const CHANGES = ["created", "adopted", "updated", "replaced", "deleted", "rotated"] as const;
const DRIFTS = Object.keys(DRIFT_TEXT) as Drift[];

const RUN_SECONDS = [0.1, 0.5, 1, 5, 10, 30, 60, 300, 600, 1_800, 3_600, 10_800];

/** The ends of tenants that are served singly. */
type End = Extract<Served, { outcome: string }>["outcome"] | "unknown" | "failed";

const ENDS = [
  ...["created", "adopted", "updated", "replaced", "restored", "unchanged"],
  ...["rejected", "held", "waiting", "outdated", "not_ready", "unknown", "failed"],
] as const satisfies readonly End[];

/** The finest are around what is promised: a second for a notice that comes at once. */
const TOKEN_SECONDS = [0.05, 0.1, 0.15, 0.25, 0.5, 0.75, 1, 1.5, 2.5, 5, 10, 30, 60, 300];

/** Counts the events of runs, and of single tenants that are served between two of them. */
export function eventMetrics(registry: Registry, clock: Clock): Observe {
  const registers = [registry];
  const runs = new Counter({
    name: "groupsync_runs_total",
    help: "Ended runs, by outcome as in sync --json. A run that stopped early or gave the lease to a command is interrupted.",
    labelNames: ["outcome"],
    registers,
  });
  const durations = new Histogram({
    name: "groupsync_run_duration_seconds",
    help: "Duration of runs, by outcome.",
    labelNames: ["outcome"],
    buckets: RUN_SECONDS,
    registers,
  });
  const changes = new Counter({
    name: "groupsync_changes_total",
    help: "Finished changes of groups.",
    labelNames: ["change"],
    registers,
  });
  const drifts = new Counter({
    name: "groupsync_drift_total",
    help: "Changes that somebody else made at the service.",
    labelNames: ["drift"],
    registers,
  });
  const failures = new Counter({
    name: "groupsync_change_failures_total",
    help: "Failed changes of groups.",
    registers,
  });
  const retries = new Counter({
    name: "groupsync_request_retries_total",
    help: "Requests that groupsync repeated after a failure. Throttled requests don't count.",
    registers,
  });
  const unstored = new Counter({
    name: "groupsync_unstored_tokens_total",
    help: "Failed attempts to store a new token: a tenant is locked out.",
    registers,
  });
  const throttled = new Counter({
    name: "groupsync_throttle_seconds_total",
    help: "How long runs have waited for the service's limits, or for service.rate_limit.",
    registers,
    collect: () => countWaiting(),
  });
  const servedTenants = new Counter({
    name: "groupsync_served_tenants_total",
    help: "Tenants that groupsync served one by one, by outcome.",
    labelNames: ["outcome"],
    registers,
  });
  const tokenSeconds = new Histogram({
    name: "groupsync_notice_to_token_seconds",
    help: "Time from noticing a tenant until its token was stored and its group was in sync.",
    buckets: TOKEN_SECONDS,
    registers,
  });
  // Begin every series with 0. Prometheus sees no increase in a series that begins with 1, so an alert would miss it.
  for (const outcome of OUTCOMES) {
    runs.inc({ outcome }, 0);
    durations.zero({ outcome });
  }
  for (const change of CHANGES) changes.inc({ change }, 0);
  for (const drift of DRIFTS) drifts.inc({ drift }, 0);
  for (const outcome of ENDS) servedTenants.inc({ outcome }, 0);

  /**
   * On the monotonic clock, in milliseconds. Waiting time up to `countedTo` is counted. A wait that was announced
   * lasts until `waitsUntil`.
   */
  let countedTo = 0;
  let waitsUntil = 0;

  function countServed({ served, ms }: Extract<RunEvent, { kind: "served" }>): void {
    if (served.kind === "pending") return;
    const outcome = "outcome" in served ? served.outcome : served.kind;
    servedTenants.inc({ outcome });
    if (served.kind === "failed") failures.inc();
    if (served.kind !== "done" || served.outcome === "unchanged") return;
    tokenSeconds.observe(ms / 1_000);
    if (served.outcome !== "restored") changes.inc({ change: served.outcome });
  }

  function finished({ outcome, error, durationMs }: RunSummary): void {
    // Not a run: another instance holds the lease, and this one asks again every few seconds.
    if (error?.code === "LEASE_HELD") return;
    const ending: Ending = error && isInterruption(error) ? "interrupted" : outcome;
    runs.inc({ outcome: ending });
    durations.observe({ outcome: ending }, durationMs / 1_000);
  }

  /** Counts waiting time only after it has passed, because a wait may be cut short, and two waits may overlap. */
  function countWaiting(): void {
    const now = clock.monotonic();
    throttled.inc(Math.max(0, Math.min(now, waitsUntil) - countedTo) / 1_000);
    countedTo = now;
  }

  return (event) => {
    switch (event.kind) {
      case "recorded":
        changes.inc({ change: event.result });
        break;
      case "served":
        countServed(event);
        break;
      case "deleted":
      case "rotated":
        changes.inc({ change: event.kind });
        break;
      case "drift":
        drifts.inc({ drift: event.drift });
        break;
      case "failed":
        failures.inc();
        break;
      case "retry":
        retries.inc();
        break;
      case "unstored":
        unstored.inc();
        break;
      case "waiting":
        countWaiting();
        waitsUntil = Math.max(waitsUntil, clock.monotonic() + event.ms);
        break;
      case "finished":
        countWaiting();
        waitsUntil = 0;
        finished(event);
        break;
    }
  };
}
