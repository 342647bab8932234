import type { DaemonFacts, FeedFacts } from "../../core/report/scope-facts.ts";
import type { LedgerStatus } from "../../engine/ledger-status.ts";
import type { RunId } from "../../ports/ledger/scope.ts";
import type { Unreached } from "../../ports/notifier.ts";
import type { RunSummary } from "../../ports/observer.ts";
import type { NoticingState } from "../changes/noticing.ts";

/** Everything that the daemon's probes, status page and metrics show. Contains no secret. */
export interface DaemonState
  extends TrackedState,
    Pick<DaemonFacts, "version" | "configPath" | "schedule" | "nextRun" | "staleAt" | "reachedAt"> {
  /** The scope: `name` in the config. */
  readonly name: string;
  /** `schedule` is read in this time zone. */
  readonly timezone: string;
  /** The addresses of `notify` that got nothing when something was last sent to them. */
  readonly unreached: readonly Unreached[];
  /** Null if the config has single tenants served by no feed, or if no sync has begun yet. */
  readonly serving: ServingNow | null;
}

/** What the runs and the config have shown. */
export interface TrackedState
  extends Pick<
    DaemonFacts,
    | ("startedAt" | "configReadAt" | "rejectedConfig" | "current" | "queued" | "skippedRuns")
    | ("lastGoodSync" | "lastAnswer")
  > {
  /** Set while another instance holds the lease and this one waits for it. */
  readonly standby: { readonly since: Date; readonly message: string } | null;
  /** The last run of this process, without runs that another instance's lease prevented. Null before the first one. */
  readonly lastRun: FinishedRun | null;
  /** Null until the ledger was read once. */
  readonly ledger: LedgerSnapshot | null;
}

export type CurrentRun = NonNullable<DaemonFacts["current"]>;

export interface FinishedRun extends RunSummary {
  /** Null if the run ended before it had the lease. */
  readonly run: RunId | null;
  readonly startedAt: Date;
  readonly finishedAt: Date;
}

/** The ledger as it was after the last run. */
export type LedgerSnapshot = LedgerStatus & Required<Pick<LedgerStatus, "tooOld">>;

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

/** The feeds that the config names. */
export const feedsOf = (serving: ServingNow | null): readonly FeedFacts[] =>
  Object.entries(serving?.feeds ?? {}).map(([feed, state]) => ({ feed, state: state ?? null }));
