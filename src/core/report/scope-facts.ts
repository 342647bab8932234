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
  /** Null if the ledger was not read yet. */
  readonly ledger: LedgerFacts | null;
  /** Newest first: the last day's at least, and the last ten. */
  readonly runs: readonly PastRun[];
  /** The last run that the service made fail; null if the service has given a good answer since. */
  readonly unanswered: PastRun | null;
  /** The tenants that are served singly, by this instance or as the ledger tells. */
  readonly serving: Pick<ServingFacts, "oldestMs" | "failing"> | null;
  /** Null if a command asks, which knows the ledger only. */
  readonly daemon: DaemonFacts | null;
}

export interface PastRun {
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

/** What the ledger knows of a scope. */
export interface LedgerFacts {
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
  readonly lease: { readonly holder: string; readonly acquiredAt: Date } | null;
  readonly service: {
    readonly baseUrl: string | null;
    readonly teamId: number | null;
    readonly answeredAt: Date | null;
  };
  readonly tables: ResolvedTables;
}

interface OwingGroup {
  readonly user_group_id: string;
  readonly owed: readonly Owed[];
  /** Since when somebody wants a new token for the group; null if nobody does. */
  readonly wantedSince: Date | null;
}

/** What a daemon knows beside the ledger. */
export interface DaemonFacts {
  readonly version: string;
  readonly configPath: string;
  /** A cron line. */
  readonly schedule: string;
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
  /** When a sync last reached its end, on any instance. Null if no such sync is known. */
  readonly lastGoodSync: Date | null;
  /** When the service last answered well, to any instance, and to the minute. Null if no answer is known. */
  readonly lastAnswer: Date | null;
  /** From when on the daemon counts as not ready, unless a sync reaches its end before. */
  readonly staleAt: Date;
  /** How many scheduled times came while a run was under way. */
  readonly skippedRuns: number;
  /** The config that was read last, if it was rejected. The one before it is in force. */
  readonly rejectedConfig: RejectedConfig | null;
  /** The addresses of `notify` that got nothing when something was last sent to them. */
  readonly unreached: readonly Unreached[];
  /** When each address of `notify` last got something; null if nothing was sent to it yet, or nothing arrived. */
  readonly reachedAt: Readonly<Record<string, Date | null>>;
  /** Null if the config has single tenants served by no feed, or if no sync has begun yet. */
  readonly serving: ServingFacts | null;
  /** What calls have been waiting for, for a run or for single tenants; null if none waits for long. */
  readonly queued: Queued | null;
}

export interface RejectedConfig extends FailureWithHint {
  /** When the first of the rejected configs was read. */
  readonly since: Date;
}

interface Unreached {
  /** Its key in the config. */
  readonly key: string;
  readonly since: Date;
  readonly message: string;
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
  readonly failure: (FailureWithHint & { readonly since: Date }) | null;
}
