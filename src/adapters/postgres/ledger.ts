import { escapeLiteral } from "pg";
import { SyncError } from "../../core/errors.ts";
import type { Lease, LeaseAttempt, LeaseHolder, Ledger, LedgerTransaction } from "../../ports/ledger.ts";
import type { Database, Queryable } from "./database.ts";
import { databaseError, isLockTimeout } from "./failures.ts";
import { migrateLedger } from "./ledger-schema.ts";
import type { LedgerLocation } from "./ledger-tables.ts";
import { PostgresLedgerTransaction } from "./ledger-transaction.ts";
import { PostgresLedgerView } from "./ledger-view.ts";

/** A process that was stopped inside a transaction must not keep others waiting for good. */
const BEGIN = "BEGIN; SET LOCAL idle_in_transaction_session_timeout = '60s'";
const BEGIN_LEASE = "BEGIN; SET LOCAL lock_timeout = '2s'";

/**
 * The ledger in PostgreSQL. The lease is a row whose epoch grows with every holder. Each write locks the row
 * against a new holder, and is refused where the epoch is no longer the writer's.
 */
export class PostgresLedger extends PostgresLedgerView implements Ledger {
  readonly #location: LedgerLocation;

  constructor(database: Database, location: LedgerLocation, scope: string) {
    super(database, location, scope);
    this.#location = location;
  }

  async prepare(): Promise<void> {
    try {
      await migrateLedger(this.database, this.tables, this.#location);
    } catch (error) {
      throw databaseError("LEDGER_UNAVAILABLE", "cannot open the ledger", error);
    }
  }

  async acquireLease(holder: string, ttlMs: number): Promise<LeaseAttempt> {
    // Without a lock where it is held anyway: a holder may stand still in a transaction that has the row locked.
    const before = await this.#currentLease();
    if (before?.held) return { kind: "held", by: before };
    const attempt = await this.#onLease<LeaseAttempt>(async (connection, current) => {
      if (current?.held) return { kind: "held", by: current };
      return { kind: "acquired", lease: await this.#take(connection, holder, ttlMs) };
    });
    if (attempt) return attempt;
    if (before) return { kind: "held", by: before };
    throw new SyncError("LEDGER_UNAVAILABLE", "cannot take the lease: its row stays locked");
  }

  seizeLease(from: LeaseHolder, holder: string, ttlMs: number): Promise<Lease | undefined> {
    return this.#onLease(async (connection, current) =>
      current?.epoch === from.epoch ? this.#take(connection, holder, ttlMs) : undefined,
    );
  }

  async renewLease({ epoch }: Lease, ttlMs: number): Promise<boolean> {
    const rows = await this.database.query(
      `UPDATE ${this.tables.leases} SET expires_at = clock_timestamp() + $3 * interval '1 millisecond'
       WHERE scope = $1 AND epoch = $2 RETURNING 1`,
      [this.scope, epoch, ttlMs],
    );
    return rows.length > 0;
  }

  async releaseLease({ epoch }: Lease): Promise<void> {
    await this.database.query(
      `UPDATE ${this.tables.leases} SET expires_at = clock_timestamp() WHERE scope = $1 AND epoch = $2`,
      [this.scope, epoch],
    );
  }

  async write<T>(lease: Lease, body: (transaction: LedgerTransaction) => Promise<T>): Promise<T> {
    try {
      return await this.database.transaction(`${BEGIN}; ${this.ifHeld(lease)}`, async (connection, held) => {
        if (held.length === 0) throw leaseLost();
        return body(new PostgresLedgerTransaction(this.database, connection, this.tables, this.scope));
      });
    } catch (error) {
      throw databaseError("LEDGER_UNAVAILABLE", "cannot write the ledger", error);
    }
  }

  /**
   * A query that finds a row where the lease is held, and keeps that so until its transaction ends: a new holder locks
   * the row for itself, and waits. Heartbeats don't.
   */
  ifHeld({ epoch }: Lease): string {
    return `SELECT 1 FROM ${this.tables.leases}
      WHERE scope = ${escapeLiteral(this.scope)} AND epoch = ${escapeLiteral(epoch)} FOR KEY SHARE`;
  }

  /**
   * With the lease's row locked, so that two that want it come one after the other.
   * Undefined where a writer keeps it locked.
   */
  async #onLease<T>(
    body: (connection: Queryable, current: CurrentLease | undefined) => Promise<T>,
  ): Promise<T | undefined> {
    try {
      return await this.database.transaction(BEGIN_LEASE, async (connection) => {
        await connection.query(
          `INSERT INTO ${this.tables.leases} (scope, epoch, holder, acquired_at, expires_at)
           VALUES ($1, 0, '', '-infinity', '-infinity') ON CONFLICT DO NOTHING`,
          [this.scope],
        );
        const { rows } = await connection.query<CurrentLease>(`${this.#selectLease} FOR UPDATE`, [
          this.scope,
        ]);
        return body(connection, rows[0]);
      });
    } catch (error) {
      if (isLockTimeout(error)) return undefined;
      throw databaseError("LEDGER_UNAVAILABLE", "cannot take the lease", error);
    }
  }

  async #currentLease(): Promise<CurrentLease | undefined> {
    try {
      return (await this.database.query<CurrentLease>(this.#selectLease, [this.scope]))[0];
    } catch (error) {
      throw databaseError("LEDGER_UNAVAILABLE", "cannot read the lease", error);
    }
  }

  get #selectLease(): string {
    return `SELECT epoch, holder, acquired_at AS "acquiredAt", expires_at AS "expiresAt",
        expires_at > clock_timestamp() AS held
      FROM ${this.tables.leases} WHERE scope = $1`;
  }

  async #take(connection: Queryable, holder: string, ttlMs: number): Promise<Lease> {
    const { rows } = await connection.query<Lease>(
      `UPDATE ${this.tables.leases}
       SET epoch = epoch + 1, holder = $2, acquired_at = clock_timestamp(),
         expires_at = clock_timestamp() + $3 * interval '1 millisecond'
       WHERE scope = $1 RETURNING epoch`,
      [this.scope, holder, ttlMs],
    );
    return { epoch: rows[0]?.epoch ?? "" };
  }
}

interface CurrentLease extends LeaseHolder {
  readonly held: boolean;
}

const leaseLost = (): SyncError =>
  new SyncError("LEASE_LOST", "another instance has taken the lease", {
    hint: "nothing more was changed; that instance settles what was under way",
  });
