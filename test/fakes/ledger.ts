import { ApprovalCode } from "../../src/core/approval-code.ts";
import type { Held } from "../../src/core/clearance.ts";
import { SyncError } from "../../src/core/errors.ts";
import type { Evidence } from "../../src/core/evidence.ts";
import type { Group } from "../../src/core/group.ts";
import { compareIds } from "../../src/core/id.ts";
import type { LedgerGroup } from "../../src/core/ledger-group.ts";
import { UNKNOWN_STATE } from "../../src/core/ledger-group.ts";
import { ROTATED, type RotationCandidate } from "../../src/core/rotation.ts";
import { NOT_EVERYWHERE } from "../../src/core/token-copies.ts";
import type {
  BucketOptions,
  HeldGroups,
  KnownService,
  Lease,
  LeaseAttempt,
  LeaseHolder,
  Ledger,
  LedgerBucket,
  LedgerStatus,
  LedgerTransaction,
  RecordedRun,
  RotatableOptions,
  VouchedOptions,
  VouchedToken,
} from "../../src/ports/ledger.ts";
import type { Step } from "./instance.ts";
import type { LeaseRow, LedgerRow, LedgerState, Writer } from "./ledger-state.ts";
import { InMemoryLedgerTransaction } from "./ledger-transaction.ts";
import { sumsOf } from "./tenant-source.ts";

const SHOWN = 100;
/** A transaction in which somebody stands still for longer is thrown out. */
const LONGEST_PAUSE = 60_000;

/** `now` is the database's clock, which no instance can set. */
export class InMemoryLedger implements Ledger {
  readonly #state: LedgerState;
  readonly #step: Step;
  readonly #now: () => Date;
  readonly #batch: number;
  readonly #writers = new Set<Writer>();

  constructor(state: LedgerState, step: Step, now: () => Date, batch = 3) {
    this.#state = state;
    this.#step = step;
    this.#now = now;
    this.#batch = batch;
  }

  prepare(): Promise<void> {
    return this.#step({ when: "before", call: "prepareLedger" });
  }

  async acquireLease(holder: string, ttlMs: number): Promise<LeaseAttempt> {
    await this.#step({ when: "before", call: "acquireLease" });
    const current = this.#state.lease;
    const attempt: LeaseAttempt =
      current && (current.expiresAt > this.#now() || this.#isFenced())
        ? { kind: "held", by: holderOf(current) }
        : { kind: "acquired", lease: this.#take(holder, ttlMs) };
    await this.#step({ when: "after", call: "acquireLease" });
    return attempt;
  }

  async seizeLease(from: LeaseHolder, holder: string, ttlMs: number): Promise<Lease | undefined> {
    await this.#step({ when: "before", call: "seizeLease" });
    const mayTake = this.#isCurrent(from) && !this.#isFenced();
    const lease = mayTake ? this.#take(holder, ttlMs) : undefined;
    await this.#step({ when: "after", call: "seizeLease" });
    return lease;
  }

  async renewLease(lease: Lease, ttlMs: number): Promise<boolean> {
    await this.#step({ when: "before", call: "renewLease" });
    const renewed = this.#isCurrent(lease);
    if (renewed) this.#expireAt(ttlMs);
    await this.#step({ when: "after", call: "renewLease" });
    return renewed;
  }

  async releaseLease(lease: Lease): Promise<void> {
    await this.#step({ when: "before", call: "releaseLease" });
    if (this.#isCurrent(lease)) this.#expireAt(0);
    await this.#step({ when: "after", call: "releaseLease" });
  }

  async write<T>(lease: Lease, body: (transaction: LedgerTransaction) => Promise<T>): Promise<T> {
    this.#insistOn(lease);
    const writer: Writer = { heardAt: this.#now() };
    const step: Step = async (point) => {
      await this.#step(point);
      this.#insistOnConnection(writer);
      writer.heardAt = this.#now();
    };
    const transaction = new InMemoryLedgerTransaction(this.#state, step);
    this.#writers.add(writer);
    this.#state.writers.add(writer);
    let result: T;
    try {
      await this.#step({ when: "after", call: "openTransaction" });
      result = await body(transaction);
      await step({ when: "before", call: "commit" });
      this.#insistOn(lease);
      transaction.commit();
    } finally {
      this.#leave(writer);
    }
    await this.#step({ when: "after", call: "commit" });
    return result;
  }

  /** As if the process were gone: the database ends its transactions. */
  disconnect(): void {
    for (const writer of this.#writers) this.#leave(writer);
  }

  async service(): Promise<KnownService> {
    await this.#step({ when: "before", call: "service" });
    return this.#state.service;
  }

  async evidence(): Promise<Evidence> {
    await this.#step({ when: "before", call: "evidence" });
    return this.#state.evidence;
  }

  async removalsSince(time: Date): Promise<number> {
    await this.#step({ when: "before", call: "removalsSince" });
    return this.#state.removals.filter(({ at }) => at >= time).length;
  }

  async buckets({ unverifiedAtRest }: BucketOptions): Promise<readonly LedgerBucket[]> {
    await this.#step({ when: "before", call: "ledgerBuckets" });
    const atRest = (row: LedgerRow): boolean =>
      row.fingerprint !== null &&
      row.row !== null &&
      row.intent === null &&
      row.absence === null &&
      row.failure === null &&
      (row.unverified !== "updated" || unverifiedAtRest);
    const rows = [...this.#state.rows.values()];
    const resting = sumsOf(rows.flatMap((row) => (row.row && atRest(row) ? [row.row] : [])));
    return [...new Set(rows.map((row) => row.bucket))].map((bucket) => ({
      ...(resting.find((sum) => sum.bucket === bucket) ?? { bucket, rows: 0, sum: "0" }),
      restless: rows.filter((row) => row.bucket === bucket && !atRest(row)).length,
    }));
  }

  async *groups(buckets?: readonly number[]): AsyncGenerator<readonly LedgerGroup[]> {
    const groups = [...this.#state.rows]
      .filter(([, { bucket }]) => buckets?.includes(bucket) ?? true)
      .map(([user_group_id, { fingerprint, row, intent, unverified, absence, held, failure }]) => {
        return { user_group_id, fingerprint, row, intent, unverified, absence, held, failure };
      })
      .sort((a, b) => compareIds(a.user_group_id, b.user_group_id));
    for (let start = 0; start < groups.length; start += this.#batch) {
      await this.#step({ when: "before", call: "groups" });
      yield groups.slice(start, start + this.#batch);
    }
  }

  async confirmed(ids: readonly string[]): Promise<ReadonlyMap<string, Group>> {
    await this.#step({ when: "before", call: "confirmed" });
    const known = ids.flatMap((id): [string, Group][] => {
      const group = this.#state.rows.get(id)?.confirmed;
      return group ? [[id, group]] : [];
    });
    return new Map(known);
  }

  async rotatable({ until, limit, after }: RotatableOptions): Promise<readonly RotationCandidate[]> {
    await this.#step({ when: "before", call: "rotatable" });
    return this.#candidates(until)
      .filter((candidate) => after === undefined || byAge(candidate, after) > 0)
      .slice(0, limit);
  }

  async rotatableCount(until: Date): Promise<number> {
    await this.#step({ when: "before", call: "rotatableCount" });
    return this.#candidates(until).length;
  }

  async vouchedTokens({ limit, after, of }: VouchedOptions): Promise<readonly VouchedToken[]> {
    await this.#step({ when: "before", call: "vouchedTokens" });
    return [...this.#state.rows]
      .flatMap(([user_group_id, row]): VouchedToken[] => {
        const { tokenFingerprint, confirmed: group, fingerprint, row: digest, dataSourceId } = row;
        if (tokenFingerprint === null || fingerprint === null) return [];
        if (row.intent !== null || row.absence !== null) return [];
        const failure = row.failure?.fingerprint === NOT_EVERYWHERE ? row.failure : null;
        if (of === "not everywhere" && failure === null) return [];
        if (typeof of !== "string" && !of.includes(user_group_id)) return [];
        const isConfirmed = group !== null && digest !== null && fingerprint !== UNKNOWN_STATE;
        const confirmed = isConfirmed ? { group, fingerprint, row: digest, dataSourceId } : null;
        return [{ user_group_id, tokenFingerprint, confirmed, failure }];
      })
      .sort((a, b) => compareIds(a.user_group_id, b.user_group_id))
      .filter(({ user_group_id }) => after === undefined || compareIds(user_group_id, after) > 0)
      .slice(0, limit);
  }

  async tokenPlaces(): Promise<readonly string[] | null> {
    await this.#step({ when: "before", call: "tokenPlaces" });
    return this.#state.tokenPlaces;
  }

  #candidates(until: Date): RotationCandidate[] {
    return [...this.#state.rows]
      .flatMap(([user_group_id, { tokenSince, absence, intent, failure }]) => {
        const isOpen = intent === null || intent === "rotate";
        if (tokenSince === null || tokenSince > until || absence !== null || !isOpen) return [];
        return [{ user_group_id, tokenSince, failure: failure?.fingerprint === ROTATED ? failure : null }];
      })
      .sort(byAge);
  }

  async status(): Promise<LedgerStatus> {
    await this.#step({ when: "before", call: "status" });
    const { rows, runs, lease, service } = this.#state;
    const all = [...rows.values()];
    return {
      groups: {
        total: all.length,
        in_sync: all.filter((row) => !row.intent && !row.failure && !row.absence && !row.held).length,
        under_way: all.filter((row) => row.intent !== null).length,
        failing: all.filter((row) => row.failure !== null).length,
        missing: all.filter((row) => row.absence !== null).length,
        unverified: all.filter((row) => row.unverified).length,
      },
      oldestToken: oldestOf(all.map(({ tokenSince }) => tokenSince)),
      oldestUnsynced: oldestOf(all.flatMap(({ intentAt, failingSince }) => [intentAt, failingSince])),
      held: this.#held(),
      failing: [...rows]
        .flatMap(([user_group_id, { failure, failingSince: since }]) =>
          failure && since ? [{ user_group_id, ...failure, since }] : [],
        )
        .sort((a, b) => a.since.getTime() - b.since.getTime() || compareIds(a.user_group_id, b.user_group_id))
        .slice(0, SHOWN),
      runs: runs.slice(0, 10),
      lease: lease && lease.expiresAt > this.#now() ? holderOf(lease) : null,
      service,
    };
  }

  async history(since: Date, limit: number): Promise<readonly RecordedRun[]> {
    await this.#step({ when: "before", call: "history" });
    return this.#state.runs.filter(({ startedAt }) => startedAt >= since).slice(0, limit);
  }

  async tokensLiveSince(times: readonly Date[]): Promise<readonly number[]> {
    await this.#step({ when: "before", call: "tokensLiveSince" });
    const since = [...this.#state.rows.values()].flatMap(({ tokenSince }) => tokenSince ?? []);
    return times.map((time) => since.filter((begin) => begin <= time).length);
  }

  #held(): HeldGroups | null {
    const { rows, service, evidence } = this.#state;
    const groups = [...rows]
      .flatMap(([user_group_id, { held }]): Held[] => (held ? [{ kind: held, user_group_id }] : []))
      .sort((a, b) => compareIds(a.user_group_id, b.user_group_id));
    const code = new ApprovalCode({ baseUrl: service.baseUrl, approvals: evidence.approvals });
    for (const held of groups) code.add(held);
    return groups.length === 0
      ? null
      : { count: groups.length, code: code.get(), groups: groups.slice(0, SHOWN) };
  }

  #take(holder: string, ttlMs: number): Lease {
    const acquiredAt = this.#now();
    const epoch = (this.#state.lease?.epoch ?? 0) + 1;
    this.#state.lease = { epoch, holder, acquiredAt, expiresAt: acquiredAt };
    this.#expireAt(ttlMs);
    return { epoch: String(epoch) };
  }

  #expireAt(ttlMs: number): void {
    const { lease } = this.#state;
    if (lease) this.#state.lease = { ...lease, expiresAt: new Date(this.#now().getTime() + ttlMs) };
  }

  /** Expired or not: as long as nobody else has taken it. */
  #isCurrent({ epoch }: Lease): boolean {
    return this.#state.lease !== undefined && String(this.#state.lease.epoch) === epoch;
  }

  #leave(writer: Writer): void {
    this.#writers.delete(writer);
    this.#state.writers.delete(writer);
  }

  /** Whether anybody's transaction keeps the lease with its holder. */
  #isFenced(): boolean {
    return [...this.#state.writers].some((writer) => !this.#isThrownOut(writer));
  }

  #isThrownOut({ heardAt }: Writer): boolean {
    return this.#now().getTime() - heardAt.getTime() > LONGEST_PAUSE;
  }

  #insistOnConnection(writer: Writer): void {
    if (this.#isThrownOut(writer))
      throw new SyncError("LEDGER_UNAVAILABLE", "cannot write the ledger: stood still in a transaction");
  }

  #insistOn(lease: Lease): void {
    if (this.#isCurrent(lease)) return;
    throw new SyncError("LEASE_LOST", "another instance has taken the lease", {
      hint: "nothing more was changed",
    });
  }
}

const byAge = (a: RotationCandidate, b: RotationCandidate): number =>
  a.tokenSince.getTime() - b.tokenSince.getTime() || compareIds(a.user_group_id, b.user_group_id);

const oldestOf = (times: readonly (Date | null)[]): Date | null =>
  times.reduce((oldest, time) => (time && !(oldest && oldest < time) ? time : oldest), null);

const holderOf = (lease: LeaseRow): LeaseHolder => ({ ...lease, epoch: String(lease.epoch) });
