import type { WentMissing } from "../deletion/missing-tenants.ts";
import type { HeldGroups } from "../deletion/removals.ts";
import type { RefreshHold } from "../drift/refresh.ts";
import type { FailingGroup } from "../failure/group-failures.ts";
import type { FailureWithHint } from "../failure/sync-error.ts";
import type { Owed } from "../group/ledger-group.ts";
import type { RememberedRejection } from "../group/rejections.ts";
import type { Counts, RunOutcome } from "./counts.ts";
import type { Queued } from "./progress.ts";
import type { ResolvedTables } from "./tables-text.ts";

/** All that decides what is wrong with a scope, and what else is shown of it. */
export interface ScopeFacts {
  /** Null if it was not read yet. */
  readonly ledger: LedgerStatus | null;
  /** Null if a command asks, which knows the ledger only. */
  readonly daemon: DaemonState | null;
}

export const factsOf = (daemon: DaemonState): ScopeFacts => ({ ledger: daemon.ledger, daemon });

export interface PastRun {
  /** Null for a run of this process that ended before it had the lease: the ledger doesn't have that run. */
  readonly id: string | null;
  readonly command: string;
  readonly startedAt: Date;
  readonly finishedAt: Date | null;
  /** Null while the run goes on, and for ever if it was killed. */
  readonly result: {
    readonly outcome: RunOutcome;
    readonly counts: Readonly<Counts>;
    readonly requests: number;
    readonly error: FailureWithHint | null;
  } | null;
}

/**
 * The last runs, newest first. For the last run of this process, its memory replaces what the ledger has: it knows the
 * hint, and also how the run ended if the ledger was out of reach at the end.
 */
export function runsOf({ ledger, daemon }: ScopeFacts): readonly PastRun[] {
  const recorded = ledger?.runs ?? [];
  const lastRun = daemon?.lastRun;
  if (!lastRun) return recorded;
  if (recorded.some(({ id }) => id === lastRun.id))
    return recorded.map((run) => (run.id === lastRun.id ? lastRun : run));
  const [newest] = recorded;
  return newest && newest.startedAt > lastRun.startedAt ? recorded : [lastRun, ...recorded];
}

/** The last run that the service made fail; null if the service has given a good answer since. */
export function unansweredRun({ ledger, daemon }: ScopeFacts): PastRun | null {
  const run = ledger?.failedByService ?? null;
  if (!ledger || !run?.finishedAt) return run;
  // Single tenants are served after the ledger was read.
  const lastAnswer = daemon?.lastAnswer ?? ledger.service.answeredAt;
  // The clock was set back since such a run: no answer would be later.
  const isOfTheFuture = run.finishedAt > ledger.readAt;
  const isAnswered = (lastAnswer && lastAnswer > run.finishedAt) || runsAfter(run, ledger).some(wasAnswered);
  return isOfTheFuture || isAnswered ? null : run;
}

/** By their order: the clock may have been set back. */
function runsAfter({ id }: PastRun, { runs }: LedgerStatus): readonly PastRun[] {
  const index = runs.findIndex((run) => run.id === id);
  return index === -1 ? runs : runs.slice(0, index);
}

/** Whether the service has given the run a good answer, as far as its counts show that. */
function wasAnswered({ result }: PastRun): boolean {
  if (result === null) return false;
  const { created, adopted, updated, replaced, rotated, refreshed } = result.counts;
  return created + adopted + updated + replaced + rotated + refreshed > 0;
}

/** A sync that reaches its end has read the source. */
export const isGoodSync = ({ command, result }: PastRun): boolean =>
  command === "sync" && result !== null && result.outcome !== "failed";

/** For how long the tenant has waited that has waited for longest, in milliseconds; 0 if none waits. */
export function oldestWaitMs({ ledger, daemon }: ScopeFacts): number {
  // While this instance stands by, another one serves.
  if (daemon) return daemon.standby ? 0 : (daemon.serving?.oldestMs ?? 0);
  // Between two runs, what is under way is the change of a single tenant, or what a run has left.
  if (!ledger?.oldestUnsynced || ledger.groups.failing > 0 || !ledger.runs[0]?.result) return 0;
  return ledger.readAt.getTime() - ledger.oldestUnsynced.getTime();
}

/** The states of which a group may be in several, as they are listed. */
export const GROUP_STATES = [
  "in_sync",
  "under_way",
  "failing",
  "in_doubt",
  "wanted",
  "missing",
  "unverified",
] as const;

/** What the ledger knows of a scope: what `status`, the status page and the metrics show. Holds no secret. */
export interface LedgerStatus {
  readonly readAt: Date;
  readonly groups: Readonly<Record<"total" | (typeof GROUP_STATES)[number], number>>;
  /** The longest-failing first, a hundred at most. */
  readonly failing: readonly FailingGroup[];
  /** Groups of which something is not done, in the order of the ids, a hundred at most. */
  readonly owing: readonly OwingGroup[];
  /** About a thousand at most: beyond them rows are only counted. */
  readonly rejected: readonly RememberedRejection[];
  readonly held: HeldGroups | null;
  /** Of the groups and rows in these lists: the ids of those that have no token. */
  readonly tokenless: ReadonlySet<string>;
  readonly refreshHold: RefreshHold | null;
  readonly missing: WentMissing;
  readonly oldestToken: Date | null;
  readonly oldestUnsynced: Date | null;
  /** When a run began that read every token in every store; null if none has. */
  readonly tokensVerifiedAt: Date | null;
  /** How many tokens are older than `rotation.max_age`; null if the config has no such age. */
  readonly tooOld: { readonly maxAgeMs: number; readonly tokens: number } | null;
  /** The instance that holds the lease; null if none does. */
  readonly lease: { readonly holder: string; readonly acquiredAt: Date; readonly expiresAt: Date } | null;
  readonly service: {
    readonly baseUrl: string | null;
    readonly teamId: number | null;
    /** When it last answered well, to the minute; null if it never did. */
    readonly answeredAt: Date | null;
    /** Whether a GET changes an existing group; null if nobody knows. */
    readonly updates: boolean | null;
  };
  /** Newest first: those of the last day, and as many more as tell since when the last one's error lasts; ten at least. */
  readonly runs: readonly PastRun[];
  /** The last run that the service made fail; null if none is known. */
  readonly failedByService: PastRun | null;
  /** The names of the groups that are listed, as far as the service told them. */
  readonly names: ReadonlyMap<string, string>;
  readonly tables: ResolvedTables;
}

interface OwingGroup {
  readonly user_group_id: string;
  readonly owed: readonly Owed[];
  /** Since when somebody wants a new token for the group; null if nobody does. */
  readonly wantedSince: Date | null;
}

/** What a daemon knows: all that its probes, its status page and its metrics show. Holds no secret. */
export interface DaemonState {
  /** As it was after the last run. Null until it was read once. */
  readonly ledger: LedgerStatus | null;
  /** The scope: `name` in the config. */
  readonly name: string;
  readonly version: string;
  readonly configPath: string;
  /** Where a browser finds the folder docs; null if nobody knows. Without a slash at its end. */
  readonly docsUrl: string | null;
  /** A cron line. */
  readonly schedule: string;
  /** `schedule` is read in this time zone. */
  readonly timezone: string;
  readonly startedAt: Date;
  /** When the config that is in force was read. */
  readonly configReadAt: Date;
  /** Null after the signal to stop. */
  readonly nextRun: Date | null;
  /** The run that is under way. Its `run` is null until it holds the lease. */
  readonly current: {
    readonly run: string | null;
    readonly since: Date;
    readonly done: number;
    readonly total: number;
    /** Set while the run waits for the service. */
    readonly waiting: { readonly until: Date; readonly reason: string } | null;
  } | null;
  /** Set while another instance holds the lease. */
  readonly standby: { readonly message: string } | null;
  /** The last run of this process, without runs that another instance's lease prevented. Null before the first one. */
  readonly lastRun: PastRun | null;
  /** When a sync last reached its end, on any instance. Null if no such sync is known. */
  readonly lastGoodSync: Date | null;
  /** When the service last answered well, to any instance, and to the minute. Null if no answer is known. */
  readonly lastAnswer: Date | null;
  /** From when on the daemon counts as not ready, unless a sync reaches its end before. */
  readonly staleAt: Date;
  /** How many scheduled times came while a run was under way. */
  readonly skippedRuns: number;
  /** The config that was read last, if it was rejected. The one before it is in force. */
  readonly rejectedConfig: LastingFailure | null;
  /** The addresses of `notify` that got nothing when something was last sent to them. */
  readonly unreached: readonly (Omit<LastingFailure, "code"> & { readonly key: string })[];
  /** When each address of `notify` last got something; null if nothing was sent to it yet, or nothing arrived. */
  readonly reachedAt: Readonly<Record<string, Date | null>>;
  /** Null if the config has single tenants served by no feed, or if no sync has begun yet. */
  readonly serving: ServingFacts | null;
  /** What calls have been waiting for, for a run or for single tenants; null if none waits for long. */
  readonly queued: Queued | null;
}

export interface LastingFailure extends FailureWithHint {
  /** When it began. */
  readonly since: Date;
}

/** How a daemon serves single tenants between two full syncs. */
export interface ServingFacts {
  /** The feeds of changed tenants that the config names. Null while one is off: another instance notices tenants, or it starts. */
  readonly feeds: Readonly<Partial<Record<"column" | "channel", FeedState | null>>>;
  /** Whether applications can ask for a tenant with POST /sync/{user_group_id}. */
  readonly takesRequests: boolean;
  /** For how long the tenant has waited that has waited for longest, in milliseconds; 0 if none waits. */
  readonly oldestMs: number;
  /** How many tenants wait for another try, because the last one failed. The ledger was read before some of them. */
  readonly failing: number;
}

/** Whether changed tenants are noticed by a column or a channel. */
export interface FeedState {
  /** When it last worked; null if it never did. */
  readonly workedAt: Date | null;
  /** Since when it has been failing, and why; null if it works. */
  readonly failure: LastingFailure | null;
}
