import type { Held } from "../../src/core/clearance.ts";
import { SyncError } from "../../src/core/errors.ts";
import type { Evidence } from "../../src/core/evidence.ts";
import { failingGroup } from "../../src/core/failing.ts";
import type { Group } from "../../src/core/group.ts";
import { compareIds } from "../../src/core/id.ts";
import type { LedgerGroup } from "../../src/core/ledger-group.ts";
import { UNKNOWN_STATE } from "../../src/core/ledger-group.ts";
import { ROTATED, type RotationCandidate } from "../../src/core/rotation.ts";
import type { CopiesFailure } from "../../src/core/token-copies.ts";
import type { TokenTable } from "../../src/core/token-tables.ts";
import type { Lease, LeaseAttempt, LeaseHolder, Seizure } from "../../src/ports/lease.ts";
import type {
  BucketOptions,
  HeldGroups,
  KnownService,
  Ledger,
  LedgerBucket,
  LedgerStatus,
  LedgerTransaction,
  RecordedRun,
  VouchedOptions,
  VouchedToken,
} from "../../src/ports/ledger.ts";
import type { ExistingOptions, RotatableOptions } from "../../src/ports/rotation.ts";
import type { Step } from "./instance.ts";
import { type LeaseRow, type LedgerRow, type LedgerState, newLedgerId, type Writer } from "./ledger-state.ts";
import { InMemoryLedgerTransaction } from "./ledger-transaction.ts";
import { sumsOf } from "./tenant-source.ts";

const SHOWN = 100;
/** A transaction in which somebody stands still for longer is thrown out. */
const LONGEST_PAUSE = 30_000;
const LOCKED = "held by session 7";

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

  async inspect(): Promise<void> {
    await this.#step({ when: "before", call: "inspectLedger" });
  }

  async prepare(): Promise<void> {
    await this.#step({ when: "before", call: "prepareLedger" });
    this.#state.id ??= newLedgerId();
  }

  async migrate(lease: Lease): Promise<void> {
    await this.#step({ when: "before", call: "migrateLedger" });
    this.#insistOn(lease);
  }

  async id(): Promise<string | null> {
    await this.#step({ when: "before", call: "ledgerId" });
    return this.#state.id;
  }

  async acquireLease(holder: string, ttlMs: number): Promise<LeaseAttempt> {
    await this.#step({ when: "before", call: "acquireLease" });
    const attempt = this.#attempt(holder, ttlMs);
    await this.#step({ when: "after", call: "acquireLease" });
    return attempt;
  }

  #attempt(holder: string, ttlMs: number): LeaseAttempt {
    const current = this.#state.lease;
    const isFenced = this.#isFenced();
    if (isFenced && (current === undefined || current.holder === ""))
      return { kind: "locked", error: new SyncError("LEDGER_UNAVAILABLE", LOCKED) };
    if (current && isFenced) return { kind: "held", by: holderOf(current), locked: LOCKED };
    if (current && current.expiresAt > this.#now()) return { kind: "held", by: holderOf(current) };
    return { kind: "acquired", abandonedMs: this.#abandonedMs(current), lease: this.#take(holder, ttlMs) };
  }

  async seizeLease(from: LeaseHolder, holder: string, ttlMs: number): Promise<Seizure> {
    await this.#step({ when: "before", call: "seizeLease" });
    const isRenewed = this.#state.lease?.expiresAt.getTime() !== from.expiresAt.getTime();
    const mayTake = this.#isCurrent(from) && !isRenewed && !this.#isFenced();
    const seizure = mayTake
      ? { lease: this.#take(holder, ttlMs) }
      : { ...(this.#isFenced() && { locked: LOCKED }) };
    await this.#step({ when: "after", call: "seizeLease" });
    return seizure;
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
    if (this.#isCurrent(lease)) {
      this.#expireAt(0);
      if (this.#state.lease) this.#state.lease = { ...this.#state.lease, holder: "" };
    }
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
    const transaction = new InMemoryLedgerTransaction(this.#state, step, () => {
      if (this.#pauseOf(writer) > LONGEST_PAUSE / 2) throw new SyncError("PAUSED", "stood still");
    });
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

  async missingSince(time: Date): Promise<number> {
    await this.#step({ when: "before", call: "missingSince" });
    return [...this.#state.rows.values()].filter(
      ({ absence, held }) => absence?.since && absence.since >= time && held === null,
    ).length;
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

  async existing({ limit, after, underWay, ...which }: ExistingOptions): Promise<readonly string[]> {
    await this.#step({ when: "before", call: "existing" });
    return this.#existing(which)
      .filter(([, { intent }]) => underWay === undefined || intent !== null)
      .filter(([, { intent }]) => underWay !== "another change" || intent !== "rotate")
      .map(([id]) => id)
      .sort(compareIds)
      .filter((id) => after === undefined || compareIds(id, after) > 0)
      .slice(0, limit);
  }

  async existingCount(which: Pick<ExistingOptions, "liveSince" | "of">): Promise<number> {
    await this.#step({ when: "before", call: "existingCount" });
    return this.#existing(which).length;
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
        const failure = row.copies && copiesFailure(row.copies);
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

  async sharedTokens(
    tokens: ReadonlyMap<string, string>,
    of: "recorded" | "all",
  ): Promise<ReadonlySet<string>> {
    await this.#step({ when: "before", call: "sharedTokens" });
    const rows = [...this.#state.rows];
    const isAnothers = ([id, token]: [string, string]): boolean =>
      rows.some(
        ([other, row]) =>
          other !== id && (row.tokenFingerprint === token || (of === "all" && row.sharedToken === token)),
      );
    return new Set([...tokens].filter(isAnothers).map(([id]) => id));
  }

  async tokenTables(): Promise<readonly TokenTable[]> {
    await this.#step({ when: "before", call: "tokenTables" });
    return this.#state.tokenTables;
  }

  async ownTables(): Promise<string | null> {
    await this.#step({ when: "before", call: "ownTables" });
    return "memory.groupsync_*";
  }

  async tokenPlaces(): Promise<readonly string[] | null> {
    await this.#step({ when: "before", call: "tokenPlaces" });
    return this.#state.tokenPlaces;
  }

  #existing({ of, liveSince }: Pick<ExistingOptions, "liveSince" | "of">): [string, LedgerRow][] {
    return [...this.#state.rows].filter(([id, { fingerprint, intent, tokenSince, intentAt }]) => {
      const since = tokenSince ?? intentAt;
      const isOld = liveSince === undefined || since === null || since <= liveSince;
      const mayExist = intent === null ? fingerprint !== null : intent !== "remove";
      return mayExist && isOld && (of?.includes(id) ?? true);
    });
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
        in_sync: all.filter((row) => !row.intent && !row.failure && !row.copies && !row.absence && !row.held)
          .length,
        under_way: all.filter((row) => row.intent !== null).length,
        failing: all.filter((row) => row.failure ?? row.copies).length,
        missing: all.filter((row) => row.absence !== null).length,
        unverified: all.filter((row) => row.unverified).length,
      },
      oldestToken: oldestOf(all.map(({ tokenSince }) => tokenSince)),
      oldestUnsynced: oldestOf(
        all.flatMap(({ intentAt, failingSince, copies }) => [intentAt, failingSince, copies?.since ?? null]),
      ),
      held: this.#held(),
      failing: [...rows]
        .flatMap(([id, { failure, failingSince: since, copies }]) => {
          const ofChange = failure && since ? [{ ...failure, since }] : [];
          return failingGroup(id, copies ? [...ofChange, copies] : ofChange) ?? [];
        })
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
    const { rows, evidence } = this.#state;
    const groups = [...rows]
      .flatMap(([user_group_id, { held }]): Held[] => (held ? [{ kind: held, user_group_id }] : []))
      .sort((a, b) => compareIds(a.user_group_id, b.user_group_id));
    if (groups.length === 0 || evidence.heldCode === null) return null;
    return { count: groups.length, code: evidence.heldCode || null, groups: groups.slice(0, SHOWN) };
  }

  #take(holder: string, ttlMs: number): Lease {
    const acquiredAt = this.#now();
    const epoch = (this.#state.lease?.epoch ?? 0) + 1;
    this.#state.lease = { epoch, holder, acquiredAt, expiresAt: acquiredAt };
    this.#expireAt(ttlMs);
    return { epoch: String(epoch) };
  }

  #abandonedMs(lease: LeaseRow | undefined): number | null {
    if (lease === undefined || lease.holder === "") return null;
    return this.#now().getTime() - lease.expiresAt.getTime();
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

  #isThrownOut(writer: Writer): boolean {
    return this.#pauseOf(writer) > LONGEST_PAUSE;
  }

  #pauseOf({ heardAt }: Writer): number {
    return this.#now().getTime() - heardAt.getTime();
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

const copiesFailure = ({ since: _, ...failure }: NonNullable<LedgerRow["copies"]>): CopiesFailure => failure;

const byAge = (a: RotationCandidate, b: RotationCandidate): number =>
  a.tokenSince.getTime() - b.tokenSince.getTime() || compareIds(a.user_group_id, b.user_group_id);

const oldestOf = (times: readonly (Date | null)[]): Date | null =>
  times.reduce((oldest, time) => (time && !(oldest && oldest < time) ? time : oldest), null);

const holderOf = (lease: LeaseRow): LeaseHolder => ({ ...lease, epoch: String(lease.epoch) });
