import type {
  FailureCounts,
  RecordedFailure,
  RetryableFailure,
} from "../../../src/core/failure/group-failures.ts";
import type { LeaseHolder } from "../../../src/ports/ledger/lease.ts";
import type { Step } from "../instance.ts";
import type { LeaseRow, LedgerRow, LedgerState, RowFailures } from "./ledger-state.ts";

/** The committed state as one instance reads it. `now` is the database's clock, which no instance can set. */
export interface CommittedLedger {
  readonly state: LedgerState;
  readonly step: Step;
  readonly now: () => Date;
  /** How many groups come at a time. */
  readonly batch: number;
}

/** The changes of one transaction. Nobody sees them before it commits. */
export class LedgerChanges {
  readonly state: LedgerState;
  readonly step: Step;
  readonly #changes: (() => void)[] = [];

  constructor(state: LedgerState, step: Step = async () => {}) {
    this.state = state;
    this.step = step;
  }

  /** For a store in the same database: its change happens when this commits, or not at all. */
  enlist(change: () => void): void {
    this.#changes.push(change);
  }

  commit(): void {
    for (const change of this.#changes) change();
  }

  /** Null: the group's last token dies. */
  retoken(id: string, fingerprint: string | null, now: Date): void {
    const row = this.state.rows.get(id);
    if (row === undefined || row.tokenFingerprint === fingerprint) return;
    if (row.tokenFingerprint !== null) {
      const { tokenFingerprint: former, tokenSince: since } = row;
      this.state.formerTokens.push({ user_group_id: id, fingerprint: former, since, until: now });
    }
    this.change(id, { tokenFingerprint: fingerprint, tokenSince: now });
    this.fails(id, { rotation: null });
  }

  fails(id: string, kinds: Partial<RowFailures>): void {
    const row = this.state.rows.get(id);
    if (row) this.change(id, { failures: { ...row.failures, ...kinds } });
  }

  change(id: string, change: Partial<LedgerRow>): void {
    const row = this.state.rows.get(id);
    if (row) this.state.rows.set(id, { ...row, ...change });
  }
}

export const failureCounts = ({ change, rotation, storing }: RowFailures): FailureCounts => ({
  change: change?.count ?? 0,
  rotation: rotation?.count ?? 0,
  storing: storing?.count ?? 0,
});

export const failedOnce = (
  before: RecordedFailure | null,
  { code, message, retryAt }: Omit<RetryableFailure, "count">,
  at: Date,
): RecordedFailure => ({
  code,
  message,
  count: (before?.count ?? 0) + 1,
  retryAt,
  since: before?.since ?? at,
});

export const NO_INTENT = { intent: null, intentAt: null };

/** A failure without the time since when. */
export function retryable<F extends RecordedFailure>(failure: F | null): Omit<F, "since"> | null {
  if (failure === null) return null;
  const { since: _, ...more } = failure;
  return more;
}

/** Who has the lease, as the ledger tells it. */
export const holderOf = (lease: LeaseRow): LeaseHolder => ({ ...lease, epoch: String(lease.epoch) });
