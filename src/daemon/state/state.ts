import type { DaemonFacts } from "../../core/report/scope-facts.ts";
import type { LedgerStatus } from "../../engine/ledger-status.ts";
import type { RecordedRun, RunId } from "../../ports/ledger/scope.ts";
import type { Unreached } from "../../ports/notifier.ts";
import type { RunSummary } from "../../ports/observer.ts";
import type { NoticingState } from "../changes/noticing.ts";

/** Everything that the daemon's probes, status page and metrics show. Contains no secret. */
export interface DaemonState extends TrackedState, Pick<DaemonFacts, "nextRun" | "staleAt"> {
  readonly version: string;
  /** The scope: `name` in the config. */
  readonly name: string;
  /** The config file, as a path that leads to it from every directory. */
  readonly configPath: string;
  /** A cron line, read in `timezone`. */
  readonly schedule: string;
  readonly timezone: string;
  /** The addresses of `notify` that got nothing when something was last sent to them. */
  readonly unreached: readonly Unreached[];
  /** Null if the config has single tenants served by no feed, or if no sync has begun yet. */
  readonly serving: ServingNow | null;
}

/** What the runs and the config have shown. */
export interface TrackedState
  extends Pick<DaemonFacts, "startedAt" | "lastGoodSync" | "lastAnswer" | "rejectedConfig" | "queued"> {
  /** The run that is under way. */
  readonly current: CurrentRun | null;
  /** Set while another instance holds the lease and this one waits for it. */
  readonly standby: { readonly since: Date; readonly message: string } | null;
  /** The last run of this process, without runs that another instance's lease prevented. Null before the first one. */
  readonly lastRun: FinishedRun | null;
  /** How many scheduled times came while a run was under way. */
  readonly skippedRuns: number;
  /** Null until the ledger was read once. */
  readonly ledger: LedgerSnapshot | null;
}

export interface CurrentRun {
  readonly since: Date;
  /** Null until the run holds the lease. */
  readonly run: RunId | null;
  readonly done: number;
  readonly total: number;
  /** Set while the run waits for the service. */
  readonly waiting: { readonly until: Date; readonly reason: string } | null;
}

export interface FinishedRun extends RunSummary {
  /** Null if the run ended before it had the lease. */
  readonly run: RunId | null;
  readonly startedAt: Date;
  readonly finishedAt: Date;
}

/** The ledger as it was after the last run. */
export interface LedgerSnapshot extends LedgerStatus {
  /** The runs of the last seven days, newest first, at most 5,000. */
  readonly history: readonly RecordedRun[];
  /** How many tokens `rotation.max_age` may rotate, because they are as old or older; null if the config has no such age. */
  readonly tooOld: { readonly maxAgeMs: number; readonly tokens: number } | null;
}

/** How the daemon serves single tenants between two full syncs. Contains no secret. */
export interface ServingNow {
  /** How the daemon notices changed tenants. */
  readonly feeds: NoticingState;
  /** Whether applications can ask for a tenant with POST /sync/{user_group_id}. */
  readonly takesRequests: boolean;
  /** For how long the tenant has waited that has waited for longest, in milliseconds; 0 if none waits. */
  readonly oldestMs: number;
  /** How many tenants wait for another try, because the last one failed. The ledger was read before some of them. */
  readonly failing: number;
}

/** The feeds that the config names, with their keys there. */
export const feedsOf = (serving: ServingNow | null) =>
  Object.entries(serving?.feeds ?? {}).map(([feed, state]) => ({
    feed,
    key: `source.changes.${feed}`,
    state,
  }));

/** The feeds that don't work. What they would notice waits for the next full sync. */
export const brokenFeedsOf = (serving: ServingNow | null) =>
  feedsOf(serving).flatMap(({ key, state }) => (state?.error ? [{ key, since: state.since }] : []));
