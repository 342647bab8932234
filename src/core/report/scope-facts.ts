import type { WentMissing } from "../deletion/missing-tenants.ts";
import type { HeldGroups } from "../deletion/removals.ts";
import type { RefreshHold } from "../drift/refresh.ts";
import type { FailingGroup } from "../failure/group-failures.ts";
import type { FailureWithHint } from "../failure/sync-error.ts";
import type { RememberedRejection } from "../group/rejections.ts";
import type { Counts, RunOutcome } from "./counts.ts";
import type { Queued } from "./progress.ts";

/** All that decides what is wrong with a scope. */
export interface ScopeFacts {
  /** Null if the ledger was not read yet. */
  readonly ledger: LedgerFacts | null;
  /** Newest first. */
  readonly runs: readonly PastRun[];
  /** The last run that the service made fail; null if the service has given a good answer since. */
  readonly unanswered: PastRun | null;
  /** The tenants that are served singly: for how long the first of them has been waiting, in milliseconds, and how many fail. */
  readonly serving: { readonly oldestMs: number; readonly failing: number } | null;
  /** Null if a command asks, which knows the ledger only. */
  readonly daemon: DaemonFacts | null;
}

export interface PastRun {
  readonly command: string;
  readonly finishedAt: Date | null;
  /** Null while the run goes on, and for ever if it was killed. */
  readonly result: {
    readonly outcome: RunOutcome;
    readonly counts: Readonly<Counts>;
    readonly error: FailureWithHint | null;
  } | null;
}

/** What the ledger knows of a scope. */
export interface LedgerFacts {
  readonly readAt: Date;
  readonly groups: Readonly<
    Record<"total" | "in_sync" | "missing" | "failing" | "in_doubt" | "wanted", number>
  >;
  /** The longest-failing first, a hundred at most. */
  readonly failing: readonly FailingGroup[];
  /** About a thousand at most: beyond them rows are only counted. */
  readonly rejected: readonly RememberedRejection[];
  readonly held: HeldGroups | null;
  readonly refreshHold: RefreshHold | null;
  readonly missing: WentMissing;
  /** The instance that holds the lease; null if none does. */
  readonly lease: object | null;
  readonly service: { readonly teamId: number | null };
  /** The runs of at least the last day, if somebody has read them. */
  readonly history?: readonly PastRun[];
}

/** What a daemon knows beside the ledger. */
export interface DaemonFacts {
  readonly startedAt: Date;
  /** Null after the signal to stop. */
  readonly nextRun: Date | null;
  /** The run that is under way. Its `run` is null until it holds the lease. */
  readonly current: {
    readonly run: string | null;
    readonly waiting: { readonly reason: string } | null;
  } | null;
  /** Set while another instance holds the lease. */
  readonly standby: object | null;
  /** When a sync last reached its end, on any instance. Null if no such sync is known. */
  readonly lastGoodSync: Date | null;
  /** When the service last answered well, to any instance, and to the minute. Null if no answer is known. */
  readonly lastAnswer: Date | null;
  /** From when on the daemon counts as not ready, unless a sync reaches its end before. */
  readonly staleAt: Date;
  /** The config that was read last, if it was rejected. The one before it is in force. */
  readonly rejectedConfig: RejectedConfig | null;
  /** The addresses of `notify` that got nothing when something was last sent to them. */
  readonly unreached: readonly (Broken & { readonly message: string })[];
  /** The feeds of changed tenants that don't work. */
  readonly brokenFeeds: readonly Broken[];
  /** What calls have been waiting for, for a run or for single tenants; null if none waits for long. */
  readonly queued: Queued | null;
}

export interface RejectedConfig extends FailureWithHint {
  /** When the first of the rejected configs was read. */
  readonly since: Date;
}

interface Broken {
  /** Its key in the config. */
  readonly key: string;
  readonly since: Date;
}
