import { Counter, Histogram, type Registry } from "prom-client";
import { DRIFT_TEXT, type Drift } from "../../core/drift/drift.ts";
import { isInterruption } from "../../core/failure/sync-error.ts";
import type { RunOutcome } from "../../core/report/counts.ts";
import type { Clock } from "../../ports/clock.ts";
import type { RunEvent, RunSummary } from "../../ports/observer.ts";
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
export class EventMetrics {
  readonly #clock: Clock;
  readonly #runs: Counter<"outcome">;
  readonly #durations: Histogram<"outcome">;
  readonly #changes: Counter<"change">;
  readonly #drift: Counter<"drift">;
  readonly #failures: Counter;
  readonly #retries: Counter;
  readonly #unstored: Counter;
  readonly #throttled: Counter;
  readonly #served: Counter<"outcome">;
  readonly #tokenSeconds: Histogram;
  /**
   * On the monotonic clock, in milliseconds. Waiting time up to `#countedTo` is counted. A wait that was announced
   * lasts until `#waitsUntil`.
   */
  #countedTo = 0;
  #waitsUntil = 0;

  constructor(registry: Registry, clock: Clock) {
    const registers = [registry];
    this.#clock = clock;
    this.#runs = new Counter({
      name: "groupsync_runs_total",
      help: "Runs that have ended, by outcome: as in sync --json, or interrupted if a run was told to stop or made room for a command. Waiting for the lease is no run, and no failure.",
      labelNames: ["outcome"],
      registers,
    });
    this.#durations = new Histogram({
      name: "groupsync_run_duration_seconds",
      help: "How long runs took, by outcome.",
      labelNames: ["outcome"],
      buckets: RUN_SECONDS,
      registers,
    });
    this.#changes = new Counter({
      name: "groupsync_changes_total",
      help: "Changes of groups that are done and recorded, by what was done.",
      labelNames: ["change"],
      registers,
    });
    this.#drift = new Counter({
      name: "groupsync_drift_total",
      help: "What somebody else had changed at the service, as GETs found it: another token, a group that is gone, another name.",
      labelNames: ["drift"],
      registers,
    });
    this.#failures = new Counter({
      name: "groupsync_change_failures_total",
      help: "Changes of groups that failed in a run, after all its tries; the next runs try again.",
      registers,
    });
    this.#retries = new Counter({
      name: "groupsync_request_retries_total",
      help: "Requests that were sent again because they failed; those that were throttled don't count.",
      registers,
    });
    this.#unstored = new Counter({
      name: "groupsync_unstored_tokens_total",
      help: "Attempts to store a new token that failed while the old one was dead: a tenant is locked out.",
      registers,
    });
    this.#throttled = new Counter({
      name: "groupsync_throttle_seconds_total",
      help: "How long runs have waited for the service's limits, or for service.rate_limit.",
      registers,
      collect: () => this.#countWaiting(),
    });
    this.#served = new Counter({
      name: "groupsync_served_tenants_total",
      help: "Tenants that were looked up singly, by what became of them.",
      labelNames: ["outcome"],
      registers,
    });
    this.#tokenSeconds = new Histogram({
      name: "groupsync_notice_to_token_seconds",
      help: "How long after a tenant was noticed its token was stored and its group was as its row says. A lookup that found nothing to do doesn't count.",
      buckets: TOKEN_SECONDS,
      registers,
    });
    // Begin every series with 0. Prometheus sees no increase in a series that begins with 1, so an alert would miss it.
    for (const outcome of OUTCOMES) {
      this.#runs.inc({ outcome }, 0);
      this.#durations.zero({ outcome });
    }
    for (const change of CHANGES) this.#changes.inc({ change }, 0);
    for (const drift of DRIFTS) this.#drift.inc({ drift }, 0);
    for (const outcome of ENDS) this.#served.inc({ outcome }, 0);
  }

  observe(event: RunEvent): void {
    switch (event.kind) {
      case "recorded":
        this.#changes.inc({ change: event.result });
        break;
      case "served":
        this.#countServed(event);
        break;
      case "deleted":
      case "rotated":
        this.#changes.inc({ change: event.kind });
        break;
      case "drift":
        this.#drift.inc({ drift: event.drift });
        break;
      case "failed":
        this.#failures.inc();
        break;
      case "retry":
        this.#retries.inc();
        break;
      case "unstored":
        this.#unstored.inc();
        break;
      case "waiting":
        this.#countWaiting();
        this.#waitsUntil = Math.max(this.#waitsUntil, this.#clock.monotonic() + event.ms);
        break;
      case "finished":
        this.#countWaiting();
        this.#waitsUntil = 0;
        this.#finished(event);
        break;
    }
  }

  #countServed({ served, ms }: Extract<RunEvent, { kind: "served" }>): void {
    if (served.kind === "pending") return;
    const outcome = "outcome" in served ? served.outcome : served.kind;
    this.#served.inc({ outcome });
    if (served.kind === "failed") this.#failures.inc();
    if (served.kind !== "done" || served.outcome === "unchanged") return;
    this.#tokenSeconds.observe(ms / 1_000);
    if (served.outcome !== "restored") this.#changes.inc({ change: served.outcome });
  }

  #finished({ outcome, error, durationMs }: RunSummary): void {
    // Not a run: another instance holds the lease, and this one asks again every few seconds.
    if (error?.code === "LEASE_HELD") return;
    const ending: Ending = error && isInterruption(error) ? "interrupted" : outcome;
    this.#runs.inc({ outcome: ending });
    this.#durations.observe({ outcome: ending }, durationMs / 1_000);
  }

  /** Counts waiting time only after it has passed, because a wait may be cut short, and two waits may overlap. */
  #countWaiting(): void {
    const now = this.#clock.monotonic();
    this.#throttled.inc(Math.max(0, Math.min(now, this.#waitsUntil) - this.#countedTo) / 1_000);
    this.#countedTo = now;
  }
}
