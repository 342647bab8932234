import { SyncError } from "../failure/sync-error.ts";
import type { GroupRecord } from "./record.ts";

/** What the row of the lease tells of the writes to the ledger. */
export interface LeaseState {
  /** Grows with every holder. */
  readonly epoch: string;
  /** How many writes were committed so far. */
  readonly writes: number;
  /** How many writes were committed when the holder took the lease. */
  readonly writesBefore: number;
  /** The database server that the last write was sent to; null if nobody can tell. */
  readonly server: string | null;
}

/** A scope that nobody has held the lease of. */
const NOTHING_WRITTEN: LeaseState = { epoch: "0", writes: 0, writesBefore: 0, server: null };

/** What a database that went back in time has lost, or may have lost. */
export interface LostWrites {
  /** The records that this process had saved, by id; null for a group that the ledger had forgotten. */
  readonly records: ReadonlyMap<string, GroupRecord | null>;
  /** More may be lost than this process knows of: all groups are in doubt. */
  readonly mayBeMore: boolean;
  /** Another instance has written since, so a record that the ledger still has may be newer than the one in `records`. */
  readonly isOvertaken: boolean;
}

interface Saved {
  readonly record: GroupRecord | null;
  /** The number of the write that saved it, or a higher one: writes that are committed at the same time overtake each other. */
  readonly write: number;
}

/** How many records are remembered. */
export const MOST_REMEMBERED = 20_000;

/**
 * What this process knows of the ledger's last writes. Shared by all its runs. A ledger that has fewer writes than this process
 * has committed went back in time: a replica that lacked them took over, or somebody restored an older state.
 */
export class RecentWrites {
  /** When this process began to remember. */
  readonly since: Date;
  /** By group, the oldest first. */
  readonly #saved = new Map<string, Saved>();
  /** The lease that this process had last; null if it had none. */
  #epoch: string | null = null;
  /** How many writes the ledger has at least. */
  #writes = 0;
  /** How many writes it has at most. */
  #begun = 0;
  /** The number of a write. All records that later writes have saved are in `#saved`. */
  #since = 0;
  /** Another process may have had the lease since, and a replica may lack all that it did. */
  #isReleased = false;
  /** How many writes the ledger had when this process took the lease. */
  #acquired = 0;
  #lost: LostWrites | null = null;
  #server: string | null = null;

  constructor(since: Date) {
    this.since = since;
  }

  /** The last lease of this process; null if it had none. */
  get epoch(): string | null {
    return this.#epoch;
  }

  get writes(): number {
    return this.#writes;
  }

  /** The server on which this process took the lease; null if nobody can tell. */
  get server(): string | null {
    return this.#server;
  }

  /** What was lost and has not been recorded again; null if nothing was. */
  get lost(): LostWrites | null {
    return this.#lost;
  }

  /** The groups that were saved under the present lease; null if not all of them are remembered. */
  get savedUnderLease(): readonly string[] | null {
    if (this.#since > this.#acquired) return null;
    return [...this.#saved].flatMap(([id, { write }]) => (write > this.#acquired ? [id] : []));
  }

  /** Whether the ledger lacks writes of this process, or its lease, and no later holder is the reason. */
  isRewound({ epoch, writes, writesBefore }: LeaseState): boolean {
    if (this.#epoch === null) return false;
    const [theirs, own] = [BigInt(epoch), BigInt(this.#epoch)];
    return theirs < own || (theirs > own ? writesBefore : writes) < this.#writes;
  }

  /** Why this process doesn't have the lease any more. `found` is undefined if the ledger has no row for the lease. */
  whyLost(found = NOTHING_WRITTEN): SyncError {
    if (this.isRewound(found))
      return new SyncError(
        "LEDGER_REWOUND",
        "the ledger lacks writes of this process: its database went back in time",
      );
    return new SyncError("LEASE_LOST", "another instance has taken the lease", {
      hint: "nothing more was changed; that instance settles what was under way",
    });
  }

  /** Call this once the lease is taken. `found` is what its row told before; `server` is where the ledger lies now. */
  acquired(epoch: string, found: LeaseState, server: string | null): void {
    const lost = this.#lostIn(found, server);
    // What was lost before is not recorded yet. Nobody knows what has happened since.
    this.#lost = this.#lost ? { ...this.#lost, mayBeMore: true, isOvertaken: true } : lost;
    if (lost || found.epoch !== this.#epoch) {
      this.#saved.clear();
      this.#since = found.writes;
    }
    this.#epoch = epoch;
    this.#isReleased = false;
    this.#server = server;
    this.#acquired = found.writes;
    this.#writes = found.writes;
    this.#begun = found.writes;
  }

  #lostIn(found: LeaseState, server: string | null): LostWrites | null {
    const isOwn = found.epoch === this.#epoch && !this.#isReleased;
    if (this.isRewound(found)) {
      const isOvertaken = BigInt(found.epoch) > BigInt(this.#epoch ?? 0);
      const left = isOvertaken ? found.writesBefore : found.writes;
      const lost = [...this.#saved].filter(([, { write }]) => write > left);
      const records = new Map(lost.map(([id, { record }]) => [id, record]));
      const mayBeMore = isOvertaken || this.#since > left;
      return records.size > 0 || mayBeMore ? { records, mayBeMore, isOvertaken } : null;
    }
    // As long as nobody else can have held the lease, the number of writes shows that nothing is lost.
    const isElsewhere = server !== null && found.server !== null && server !== found.server;
    return isElsewhere && !isOwn ? { records: new Map(), mayBeMore: true, isOvertaken: false } : null;
  }

  /** Call this once the lease is given back. */
  released(): void {
    this.#isReleased = true;
  }

  /** Call this before a write. */
  begins(): void {
    this.#begun++;
  }

  /**
   * Call this after a write is committed. `records` are those that it has saved; null: the ledger keeps nothing of the group any
   * more. If there are `MOST_REMEMBERED`, it may have saved more.
   */
  committed(records: ReadonlyMap<string, GroupRecord | null>): void {
    this.#writes++;
    if (records.size >= MOST_REMEMBERED) this.#since = this.#begun;
    for (const [id, record] of records) {
      this.#saved.delete(id);
      this.#saved.set(id, { record, write: this.#begun });
    }
    for (const [id, saved] of this.#saved) {
      if (this.#saved.size <= MOST_REMEMBERED) break;
      this.#saved.delete(id);
      this.#since = Math.max(this.#since, saved.write);
    }
  }

  /** Call this once the groups whose writes were lost are recorded as in doubt. */
  recovered(): void {
    this.#lost = null;
  }
}
