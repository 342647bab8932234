import { describe, SyncError } from "../../../core/failure/sync-error.ts";
import { tokenFingerprint } from "../../../core/group/group.ts";
import type { Lease, LeaseAttempt, LeaseHolder, Leases, Seizure } from "../../../ports/ledger/lease.ts";
import type { StoredToken } from "../../../ports/token-store.ts";
import type { Queryable } from "../connection/connections.ts";
import { databaseError } from "../connection/failures.ts";
import { LEASE_CALL } from "../connection/wait-limits.ts";
import type { LedgerReader } from "./scope.ts";

/** The lease is a row whose epoch grows with every holder, see `nextEpoch`. */
export function leases(reader: LedgerReader): Leases {
  const rows = new LeaseRows(reader);
  return {
    acquireLease: (holder, ttlMs) => rows.acquireLease(holder, ttlMs),
    seizeLease: (from, holder, ttlMs) => rows.seizeLease(from, holder, ttlMs),
    renewLease: (lease, ttlMs) => rows.renewLease(lease, ttlMs),
    releaseLease: (lease) => rows.releaseLease(lease),
  };
}

/**
 * A query that finds a row if the lease is held, and locks it: until the transaction ends, a new holder waits. A
 * renewal of the lease does not wait.
 */
export async function ifHeld(reader: LedgerReader, lease: Lease): Promise<string> {
  const { leases } = await reader.tables();
  return reader.database.dialect.selectFenced(leases, isHeld(reader, lease));
}

export const leaseLost = (): SyncError =>
  new SyncError("LEASE_LOST", "another instance has taken the lease", {
    hint: "nothing more was changed; that instance settles what was under way",
  });

/** Like `ifHeld`, but the query also finds no row if another group of the scope has the token. */
export async function ifOfNoOther(
  reader: LedgerReader,
  { user_group_id, token }: StoredToken,
  lease: Lease,
): Promise<string> {
  const { literal, same, selectFenced } = reader.database.dialect;
  const { leases, groups } = await reader.tables();
  const others = `SELECT 1 FROM ${groups} WHERE ${same("scope", literal(reader.scope))}
    AND ${same("token_fingerprint", literal(tokenFingerprint(token)))}
    AND NOT (${same("user_group_id", literal(user_group_id))})`;
  return selectFenced(leases, `${isHeld(reader, lease)} AND NOT EXISTS (${others})`);
}

function isHeld({ database, scope }: LedgerReader, { epoch }: Lease): string {
  const { literal, same } = database.dialect;
  return `${same("scope", literal(scope))} AND ${same("epoch", literal(epoch))}`;
}

class LeaseRows implements Leases {
  readonly #reader: LedgerReader;

  constructor(reader: LedgerReader) {
    this.#reader = reader;
  }

  async acquireLease(holder: string, ttlMs: number): Promise<LeaseAttempt> {
    // Read without a lock first: the holder may stand still in a transaction that has the row locked.
    const before = await this.#currentLease();
    if (before?.held) return { kind: "held", by: before };
    try {
      return await this.#onLease<LeaseAttempt>(before !== undefined, async (connection, current) => {
        if (current.held) return { kind: "held", by: current };
        const lease = await this.#take(connection, current, holder, ttlMs);
        return { kind: "acquired", lease, abandonedMs: abandonedMs(current) };
      });
    } catch (error) {
      if (!this.#isLocked(error)) throw this.#cannotTake(error);
      if (!before || before.holder === NOBODY) return { kind: "locked", error: this.#cannotTake(error) };
      return { kind: "held", by: before, locked: describe(error) };
    }
  }

  async seizeLease(from: LeaseHolder, holder: string, ttlMs: number): Promise<Seizure> {
    try {
      return await this.#onLease<Seizure>(true, async (connection, current) =>
        current.epoch === from.epoch && current.expiresAt.getTime() === from.expiresAt.getTime()
          ? { lease: await this.#take(connection, current, holder, ttlMs) }
          : {},
      );
    } catch (error) {
      if (this.#isLocked(error)) return { locked: describe(error) };
      throw this.#cannotTake(error);
    }
  }

  /** Whether the error says that another session keeps the lease's row locked, or changes it again and again. */
  #isLocked(error: unknown): boolean {
    const { dialect } = this.#reader.database;
    return dialect.isLockTimeout(error) || dialect.isDeadlock(error);
  }

  #cannotTake(error: unknown): SyncError {
    return databaseError(this.#reader.database.dialect, "LEDGER_UNAVAILABLE", "cannot take the lease", error);
  }

  async renewLease({ epoch }: Lease, ttlMs: number): Promise<boolean> {
    const { leases } = await this.#reader.tables();
    const found = await this.#reader.database.change(
      `UPDATE ${leases} SET expires_at = ${this.#reader.database.dialect.later("$3")}
       WHERE scope = $1 AND epoch = $2`,
      [this.#reader.scope, epoch, ttlMs],
    );
    return found > 0;
  }

  async releaseLease({ epoch }: Lease): Promise<void> {
    const { leases } = await this.#reader.tables();
    await this.#reader.database.change(
      `UPDATE ${leases} SET expires_at = ${this.#reader.database.dialect.now}, holder = '${NOBODY}'
       WHERE scope = $1 AND epoch = $2`,
      [this.#reader.scope, epoch],
    );
  }

  /**
   * Runs `body` with the lease's row locked: two processes that want the lease take turns. `isThere`: the row was seen.
   */
  async #onLease<T>(
    isThere: boolean,
    body: (connection: Queryable, current: CurrentLease) => Promise<T>,
  ): Promise<T> {
    const { begin, upsert } = this.#reader.database.dialect;
    const { leases } = await this.#reader.tables();
    const lock = async (connection: Queryable): Promise<CurrentLease | undefined> => {
      const rows = await connection.query<LeaseColumns>(`${this.#selectLease(leases)} FOR UPDATE`, [
        this.#reader.scope,
      ]);
      return currentLease(rows[0]);
    };
    const create = (connection: Queryable): Promise<object[]> =>
      connection.query(
        upsert({
          into: leases,
          columns: ["scope", "epoch", "holder", "acquired_at", "expires_at"],
          from: `VALUES ($1, 0, '${NOBODY}', '1970-01-02', '1970-01-02')`,
          key: ["scope"],
        }),
        [this.#reader.scope],
      );
    const locked = async (connection: Queryable): Promise<T> => {
      if (!isThere) await create(connection);
      const current = await lock(connection);
      if (!current) throw new Error("the lease's row was deleted at the same moment");
      return body(connection, current);
    };
    return this.#reader.database.transaction(begin.lease, locked, LEASE_CALL);
  }

  async #currentLease(): Promise<CurrentLease | undefined> {
    try {
      const { leases } = await this.#reader.tables();
      const rows = await this.#reader.database.query<LeaseColumns>(this.#selectLease(leases), [
        this.#reader.scope,
      ]);
      return currentLease(rows[0]);
    } catch (error) {
      throw databaseError(
        this.#reader.database.dialect,
        "LEDGER_UNAVAILABLE",
        "cannot read the lease",
        error,
      );
    }
  }

  #selectLease(leases: string): string {
    return `SELECT epoch, holder, acquired_at AS "acquiredAt", expires_at AS "expiresAt",
        expires_at > ${this.#reader.database.dialect.now} AS held, ${this.#reader.database.dialect.now} AS "readAt"
      FROM ${leases} WHERE scope = $1`;
  }

  /** The row of `current` has to be locked. */
  async #take(connection: Queryable, current: CurrentLease, holder: string, ttlMs: number): Promise<Lease> {
    const { now, later } = this.#reader.database.dialect;
    const { leases } = await this.#reader.tables();
    const epoch = nextEpoch(current);
    await connection.query(
      `UPDATE ${leases}
       SET epoch = $4, holder = $2, acquired_at = ${now}, expires_at = ${later("$3")}
       WHERE scope = $1`,
      [this.#reader.scope, holder, ttlMs, epoch],
    );
    return { epoch };
  }
}

interface CurrentLease extends LeaseHolder {
  readonly held: boolean;
  /** When the row was read, by the database's clock. */
  readonly readAt: Date;
}

/** MySQL returns 1 or "1" for true. */
type LeaseColumns = Omit<CurrentLease, "held"> & { readonly held: unknown };

/** The holder of a lease that was given back, or that nobody has held yet. */
const NOBODY = "";

/**
 * Greater than every epoch before, by the database's clock: a ledger that was restored from a backup has the epoch of that day,
 * and must not give out one that an instance from before the restore still holds.
 */
function nextEpoch({ epoch, readAt }: CurrentLease): string {
  const [next, time] = [BigInt(epoch) + 1n, BigInt(readAt.getTime())];
  return String(next > time ? next : time);
}

const abandonedMs = (lease: CurrentLease): number | null =>
  lease.holder === NOBODY ? null : lease.readAt.getTime() - lease.expiresAt.getTime();

const currentLease = (row: LeaseColumns | undefined): CurrentLease | undefined =>
  row && { ...row, held: Number(row.held) === 1 };
