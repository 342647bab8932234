import type { DeletionLimit } from "../core/deletion.ts";
import { type WentMissing, wentMissing } from "../core/went-missing.ts";
import type { LedgerStatus, RecordedRun, RunId } from "../ports/ledger.ts";
import type { RunSummary } from "../ports/observer.ts";

/** What the daemon knows: all that its probes, its page and its metrics show. Never a secret. */
export interface DaemonState {
  readonly version: string;
  /** The scope: `name` in the config. */
  readonly name: string;
  readonly startedAt: Date;
  /** A cron line, read in `timezone`. */
  readonly schedule: string;
  readonly timezone: string;
  /** Null once it is told to stop. */
  readonly nextRun: Date | null;
  /** What goes on right now. */
  readonly current: CurrentRun | null;
  /** Another instance was at work when this one last tried to be: it waits for the lease. */
  readonly standby: { readonly since: Date; readonly message: string } | null;
  /** The last run of this process that had the lease, or could not get to ask for it; null until there is one. */
  readonly lastRun: FinishedRun | null;
  /** When a sync last reached its end, of whichever instance; null where none is known of. */
  readonly lastGoodSync: Date | null;
  /** `deletion.limit` in the config. */
  readonly deletionLimit: DeletionLimit;
  /** How old the last good sync may be. */
  readonly staleAfterMs: number;
  /** Ticks that came while a run went on. */
  readonly skippedTicks: number;
  /** Null where the ledger could not be read yet. */
  readonly ledger: LedgerSnapshot | null;
}

export interface CurrentRun {
  readonly since: Date;
  /** Null until it holds the lease. */
  readonly run: RunId | null;
  readonly done: number;
  readonly total: number;
  /** What it waits for, and until when. */
  readonly waiting: { readonly until: Date; readonly reason: string } | null;
}

export interface FinishedRun extends RunSummary {
  /** Null where it ended before it had the lease. */
  readonly run: RunId | null;
  readonly startedAt: Date;
  readonly finishedAt: Date;
}

/** The ledger as it was after the last run. */
export interface LedgerSnapshot {
  readonly readAt: Date;
  readonly status: LedgerStatus;
  /** The runs of the last seven days, newest first, five thousand at most. */
  readonly history: readonly RecordedRun[];
  readonly tokenAges: readonly TokenAge[];
  /** Groups whose tenants went missing in the 24 hours before, without those that are held. */
  readonly wentMissing: number;
}

/** How many groups have a token of this age: `fromDays` up to the next entry's, the last one without an end. */
export interface TokenAge {
  readonly fromDays: number;
  readonly groups: number;
}

/** Null where the ledger could not be read yet. */
export const wentMissingOf = ({ ledger, deletionLimit }: DaemonState): WentMissing | null =>
  ledger && wentMissing(ledger.wentMissing, ledger.status.groups.total, deletionLimit);
