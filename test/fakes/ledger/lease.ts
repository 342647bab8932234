import { SyncError } from "../../../src/core/failure/sync-error.ts";
import type { RecentWrites } from "../../../src/core/record/recent-writes.ts";
import type { Lease, LeaseAttempt, Leases, LeaseTerms } from "../../../src/ports/ledger/lease.ts";
import type { LedgerTransaction } from "../../../src/ports/ledger/ledger.ts";
import type { Step } from "../instance.ts";
import { holderOf, type LeaseRow, type LedgerState, type Writer } from "./ledger-state.ts";
import { inMemoryTransaction, LedgerChanges } from "./ledger-transaction.ts";

const LOCKED = "held by session 7";
/** A transaction in which somebody stands still for longer is thrown out. */
const LONGEST_PAUSE = 30_000;

/** The lease, and the writes that it protects. */
export class InMemoryLeases implements Leases {
  readonly #state: LedgerState;
  readonly #step: Step;
  readonly #now: () => Date;
  readonly #recent: RecentWrites;
  readonly #writers = new Set<Writer>();

  constructor(state: LedgerState, step: Step, now: () => Date, recent: RecentWrites) {
    this.#state = state;
    this.#step = step;
    this.#now = now;
    this.#recent = recent;
  }

  async acquireLease(holder: string, ttlMs: number, terms: LeaseTerms = {}): Promise<LeaseAttempt> {
    await this.#step({ when: "before", call: "acquireLease" });
    const attempt = this.#attempt(holder, ttlMs, terms);
    await this.#step({ when: "after", call: "acquireLease" });
    return attempt;
  }

  #attempt(holder: string, ttlMs: number, { handOverMs = null, dead }: LeaseTerms): LeaseAttempt {
    const current = this.#state.lease;
    const isFenced = this.#isFenced();
    if (isFenced && (current === undefined || current.holder === ""))
      return { kind: "locked", error: new SyncError("LEDGER_UNAVAILABLE", LOCKED) };
    if (current && isFenced) return { kind: "held", by: holderOf(current), locked: LOCKED };
    const isOfDead =
      dead && this.#isCurrent(dead) && current?.expiresAt.getTime() === dead.expiresAt.getTime();
    if (current && current.expiresAt > this.#now() && !isOfDead)
      return { kind: "held", by: holderOf(current) };
    const abandonedMs = this.#abandonedMs(current);
    return { kind: "acquired", abandonedMs, lease: this.#take(holder, ttlMs, handOverMs) };
  }

  async renewLease(lease: Lease, ttlMs: number): Promise<SyncError | undefined> {
    await this.#step({ when: "before", call: "renewLease" });
    const lost = this.#whyLost(lease);
    if (lost === undefined) this.#expireAt(ttlMs);
    await this.#step({ when: "after", call: "renewLease" });
    return lost;
  }

  async releaseLease(lease: Lease): Promise<void> {
    await this.#step({ when: "before", call: "releaseLease" });
    if (this.#isCurrent(lease)) {
      this.#expireAt(0);
      this.#recent.released();
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
    const changes = new LedgerChanges(this.#state);
    this.#recent.begins();
    const transaction = inMemoryTransaction(changes, step);
    this.#writers.add(writer);
    this.#state.writers.add(writer);
    let result: T;
    try {
      await this.#step({ when: "after", call: "openTransaction" });
      result = await body(transaction);
      await step({ when: "before", call: "commit" });
      this.#insistOn(lease);
      this.#recent.committed(changes.commit());
      const { lease: row, server } = this.#state;
      if (row) this.#state.lease = { ...row, writes: (row.writes ?? 0) + 1, server };
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

  #take(holder: string, ttlMs: number, handOverMs: number | null): Lease {
    const acquiredAt = this.#now();
    const found = this.#state.leaseState;
    // As in a database, which counts from its time: no epoch is used twice, even if the ledger went back.
    const epoch = Math.max(Number(found.epoch) + 1, ++this.#state.epochs);
    this.#state.epochs = epoch;
    const { writes, server } = found;
    this.#state.lease = {
      ...{ epoch, holder, acquiredAt, expiresAt: new Date(acquiredAt.getTime() + ttlMs) },
      ...{ writes, writesBefore: writes, server, handOverMs },
    };
    this.#recent.acquired(String(epoch), found, this.#state.server);
    return { epoch: String(epoch) };
  }

  #abandonedMs(lease: LeaseRow | undefined): number | null {
    if (lease === undefined || lease.holder === "") return null;
    return Math.max(0, this.#now().getTime() - lease.expiresAt.getTime());
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
    const lost = this.#whyLost(lease);
    if (lost) throw lost;
  }

  #whyLost(lease: Lease): SyncError | undefined {
    const found = this.#state.leaseState;
    return this.#isCurrent(lease) && found.writes >= this.#recent.writes
      ? undefined
      : this.#recent.whyLost(found);
  }
}
