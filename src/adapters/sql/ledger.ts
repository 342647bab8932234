import { describe, type SyncError } from "../../core/errors.ts";
import { tokenFingerprint } from "../../core/group.ts";
import type { Lease, LeaseAttempt, LeaseHolder, Seizure } from "../../ports/lease.ts";
import type { Ledger, LedgerTransaction } from "../../ports/ledger.ts";
import type { StoredToken } from "../../ports/token-store.ts";
import { LEASING, LockWait } from "./attendance.ts";
import type { Queryable } from "./connections.ts";
import type { Database } from "./database.ts";
import { databaseError } from "./failures.ts";
import { createLedger, leaseLost, migrateLedger } from "./ledger-schema.ts";
import type { LedgerLocation } from "./ledger-tables.ts";
import { SqlLedgerTransaction } from "./ledger-transaction.ts";
import { SqlLedgerView } from "./ledger-view.ts";
import { repeatedly } from "./repeatedly.ts";

/**
 * The ledger in an SQL database. The lease is a row whose epoch grows with every holder. Each write locks the row
 * against a new holder, and is refused where the epoch is no longer the writer's.
 */
export class SqlLedger extends SqlLedgerView implements Ledger {
  readonly #location: LedgerLocation;
  readonly #historyMs: number;

  /** `historyMs`: how long the history of the runs is kept. */
  constructor(database: Database, location: LedgerLocation, scope: string, historyMs: number) {
    super(database, location, scope);
    this.#location = location;
    this.#historyMs = historyMs;
  }

  async prepare(): Promise<void> {
    try {
      await createLedger(this.database, await this.tables(), this.#location);
      // Somebody may have made a table just before this user would have.
      await this.insistOnOwner();
    } catch (error) {
      throw this.#cannotOpen(error);
    }
  }

  async migrate(lease: Lease): Promise<void> {
    try {
      await migrateLedger(this.database, await this.tables(), this.#location, {
        scope: this.scope,
        ifHeld: await this.ifHeld(lease),
      });
    } catch (error) {
      throw this.#cannotOpen(error);
    }
  }

  #cannotOpen(error: unknown): SyncError {
    return databaseError(this.database.dialect, "LEDGER_UNAVAILABLE", "cannot open the ledger", error);
  }

  async acquireLease(holder: string, ttlMs: number): Promise<LeaseAttempt> {
    // Without a lock where it is held anyway: a holder may stand still in a transaction that has the row locked.
    const before = await this.#currentLease();
    if (before?.held) return { kind: "held", by: before };
    try {
      return await this.#onLease<LeaseAttempt>(async (connection, current) => {
        if (current?.held) return { kind: "held", by: current };
        const lease = await this.#take(connection, holder, ttlMs);
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
      return await this.#onLease<Seizure>(async (connection, current) =>
        current?.epoch === from.epoch && current.expiresAt.getTime() === from.expiresAt.getTime()
          ? { lease: await this.#take(connection, holder, ttlMs) }
          : {},
      );
    } catch (error) {
      if (this.#isLocked(error)) return { locked: describe(error) };
      throw this.#cannotTake(error);
    }
  }

  /** Somebody keeps the lease's row locked. */
  #isLocked(error: unknown): boolean {
    return error instanceof LockWait || this.database.dialect.isLockTimeout(error);
  }

  #cannotTake(error: unknown): SyncError {
    return databaseError(this.database.dialect, "LEDGER_UNAVAILABLE", "cannot take the lease", error);
  }

  async renewLease({ epoch }: Lease, ttlMs: number): Promise<boolean> {
    const { leases } = await this.tables();
    const found = await this.database.change(
      `UPDATE ${leases} SET expires_at = ${this.database.dialect.later("$3")}
       WHERE scope = $1 AND epoch = $2`,
      [this.scope, epoch, ttlMs],
    );
    return found > 0;
  }

  async releaseLease({ epoch }: Lease): Promise<void> {
    const { leases } = await this.tables();
    await this.database.change(
      `UPDATE ${leases} SET expires_at = ${this.database.dialect.now}, holder = '${NOBODY}'
       WHERE scope = $1 AND epoch = $2`,
      [this.scope, epoch],
    );
  }

  async write<T>(lease: Lease, body: (transaction: LedgerTransaction) => Promise<T>): Promise<T> {
    const { dialect } = this.database;
    try {
      return await repeatedly(dialect, (isLast) => this.#writeOnce(lease, body, isLast));
    } catch (error) {
      throw databaseError(dialect, "LEDGER_UNAVAILABLE", "cannot write the ledger", error);
    }
  }

  async #writeOnce<T>(
    lease: Lease,
    body: (transaction: LedgerTransaction) => Promise<T>,
    isLast: boolean,
  ): Promise<T> {
    const tables = await this.tables();
    const begin = [...this.database.dialect.begin.write, await this.ifHeld(lease)];
    return this.database.transaction(begin, async (connection, held) => {
      if (held.length === 0) throw leaseLost();
      return body(
        new SqlLedgerTransaction(this.database, connection, tables, this.scope, this.#historyMs, isLast),
      );
    });
  }

  /**
   * A query that finds a row where the lease is held, and keeps that so until its transaction ends: a new holder locks
   * the row for itself, and waits. Heartbeats don't.
   */
  async ifHeld(lease: Lease): Promise<string> {
    const { leases } = await this.tables();
    return this.database.dialect.selectFenced(leases, this.#isHeld(lease));
  }

  /** Likewise, where no other group of the scope has this token, either. */
  async ifOfNoOther({ user_group_id, token }: StoredToken, lease: Lease): Promise<string> {
    const { literal, same, selectFenced } = this.database.dialect;
    const { leases, groups } = await this.tables();
    const others = `SELECT 1 FROM ${groups} WHERE ${same("scope", literal(this.scope))}
      AND ${same("token_fingerprint", literal(tokenFingerprint(token)))}
      AND NOT (${same("user_group_id", literal(user_group_id))})`;
    return selectFenced(leases, `${this.#isHeld(lease)} AND NOT EXISTS (${others})`);
  }

  #isHeld({ epoch }: Lease): string {
    const { literal, same } = this.database.dialect;
    return `${same("scope", literal(this.scope))} AND ${same("epoch", literal(epoch))}`;
  }

  /** With the lease's row locked, so that two that want it come one after the other. */
  async #onLease<T>(
    body: (connection: Queryable, current: CurrentLease | undefined) => Promise<T>,
  ): Promise<T> {
    const { begin, upsert } = this.database.dialect;
    const { leases } = await this.tables();
    const locked = async (connection: Queryable): Promise<T> => {
      await connection.query(
        upsert({
          into: leases,
          columns: ["scope", "epoch", "holder", "acquired_at", "expires_at"],
          from: `VALUES ($1, 0, '${NOBODY}', '1970-01-02', '1970-01-02')`,
          key: ["scope"],
        }),
        [this.scope],
      );
      const rows = await connection.query<LeaseColumns>(`${this.#selectLease(leases)} FOR UPDATE`, [
        this.scope,
      ]);
      return body(connection, currentLease(rows[0]));
    };
    return this.database.transaction(begin.lease, locked, LEASING);
  }

  async #currentLease(): Promise<CurrentLease | undefined> {
    try {
      const { leases } = await this.tables();
      const rows = await this.database.query<LeaseColumns>(this.#selectLease(leases), [this.scope]);
      return currentLease(rows[0]);
    } catch (error) {
      throw databaseError(this.database.dialect, "LEDGER_UNAVAILABLE", "cannot read the lease", error);
    }
  }

  #selectLease(leases: string): string {
    return `SELECT epoch, holder, acquired_at AS "acquiredAt", expires_at AS "expiresAt",
        expires_at > ${this.database.dialect.now} AS held, ${this.database.dialect.now} AS "readAt"
      FROM ${leases} WHERE scope = $1`;
  }

  async #take(connection: Queryable, holder: string, ttlMs: number): Promise<Lease> {
    const { now, later } = this.database.dialect;
    const { leases } = await this.tables();
    await connection.query(
      `UPDATE ${leases}
       SET epoch = epoch + 1, holder = $2, acquired_at = ${now}, expires_at = ${later("$3")}
       WHERE scope = $1`,
      [this.scope, holder, ttlMs],
    );
    const [taken] = await connection.query<Lease>(`SELECT epoch FROM ${leases} WHERE scope = $1`, [
      this.scope,
    ]);
    return { epoch: taken?.epoch ?? "" };
  }
}

interface CurrentLease extends LeaseHolder {
  readonly held: boolean;
  /** By the database's clock. */
  readonly readAt: Date;
}

/** What MySQL finds to be true is 1, or the text of it. */
type LeaseColumns = Omit<CurrentLease, "held"> & { readonly held: unknown };

/** Who has a lease that was given back, and one that nobody has had yet. */
const NOBODY = "";

const abandonedMs = (lease: CurrentLease | undefined): number | null =>
  lease === undefined || lease.holder === NOBODY ? null : lease.readAt.getTime() - lease.expiresAt.getTime();

const currentLease = (row: LeaseColumns | undefined): CurrentLease | undefined =>
  row && { ...row, held: Number(row.held) === 1 };
