import { SyncError } from "../../core/errors.ts";
import type { Lease, LeaseAttempt, LeaseHolder, Ledger, LedgerTransaction } from "../../ports/ledger.ts";
import type { Queryable } from "./connections.ts";
import type { Database } from "./database.ts";
import { databaseError } from "./failures.ts";
import { migrateLedger } from "./ledger-schema.ts";
import type { LedgerLocation } from "./ledger-tables.ts";
import { SqlLedgerTransaction } from "./ledger-transaction.ts";
import { SqlLedgerView } from "./ledger-view.ts";

/** Of one write that the database gave up in favour of another. */
const MOST_ATTEMPTS = 5;

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
      await migrateLedger(this.database, this.tables, this.#location);
    } catch (error) {
      throw databaseError(this.database.dialect, "LEDGER_UNAVAILABLE", "cannot open the ledger", error);
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
    const found = await this.database.change(
      `UPDATE ${this.tables.leases} SET expires_at = ${this.database.dialect.later("$3")}
       WHERE scope = $1 AND epoch = $2`,
      [this.scope, epoch, ttlMs],
    );
    return found > 0;
  }

  async releaseLease({ epoch }: Lease): Promise<void> {
    await this.database.change(
      `UPDATE ${this.tables.leases} SET expires_at = ${this.database.dialect.now} WHERE scope = $1 AND epoch = $2`,
      [this.scope, epoch],
    );
  }

  async write<T>(lease: Lease, body: (transaction: LedgerTransaction) => Promise<T>): Promise<T> {
    const { dialect } = this.database;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#writeOnce(lease, body);
      } catch (error) {
        // A token store in the same transaction has put its own words around the database's.
        const cause = error instanceof SyncError ? error.cause : error;
        if (attempt < MOST_ATTEMPTS && dialect.isDeadlock(cause)) continue;
        throw databaseError(dialect, "LEDGER_UNAVAILABLE", "cannot write the ledger", error);
      }
    }
  }

  #writeOnce<T>(lease: Lease, body: (transaction: LedgerTransaction) => Promise<T>): Promise<T> {
    const begin = [...this.database.dialect.begin.write, this.ifHeld(lease)];
    return this.database.transaction(begin, async (connection, held) => {
      if (held.length === 0) throw leaseLost();
      return body(
        new SqlLedgerTransaction(this.database, connection, this.tables, this.scope, this.#historyMs),
      );
    });
  }

  /**
   * A query that finds a row where the lease is held, and keeps that so until its transaction ends: a new holder locks
   * the row for itself, and waits. Heartbeats don't.
   */
  ifHeld({ epoch }: Lease): string {
    const { literal, selectFenced } = this.database.dialect;
    return selectFenced(this.tables.leases, `scope = ${literal(this.scope)} AND epoch = ${literal(epoch)}`);
  }

  /**
   * With the lease's row locked, so that two that want it come one after the other.
   * Undefined where a writer keeps it locked.
   */
  async #onLease<T>(
    body: (connection: Queryable, current: CurrentLease | undefined) => Promise<T>,
  ): Promise<T | undefined> {
    const { begin, isLockTimeout, upsert } = this.database.dialect;
    try {
      return await this.database.transaction(begin.lease, async (connection) => {
        await connection.query(
          upsert({
            into: this.tables.leases,
            columns: ["scope", "epoch", "holder", "acquired_at", "expires_at"],
            from: "VALUES ($1, 0, '', '1970-01-02', '1970-01-02')",
            key: ["scope"],
          }),
          [this.scope],
        );
        const rows = await connection.query<LeaseColumns>(`${this.#selectLease} FOR UPDATE`, [this.scope]);
        return body(connection, currentLease(rows[0]));
      });
    } catch (error) {
      if (isLockTimeout(error)) return undefined;
      throw databaseError(this.database.dialect, "LEDGER_UNAVAILABLE", "cannot take the lease", error);
    }
  }

  async #currentLease(): Promise<CurrentLease | undefined> {
    try {
      const rows = await this.database.query<LeaseColumns>(this.#selectLease, [this.scope]);
      return currentLease(rows[0]);
    } catch (error) {
      throw databaseError(this.database.dialect, "LEDGER_UNAVAILABLE", "cannot read the lease", error);
    }
  }

  get #selectLease(): string {
    return `SELECT epoch, holder, acquired_at AS "acquiredAt", expires_at AS "expiresAt",
        expires_at > ${this.database.dialect.now} AS held
      FROM ${this.tables.leases} WHERE scope = $1`;
  }

  async #take(connection: Queryable, holder: string, ttlMs: number): Promise<Lease> {
    const { now, later } = this.database.dialect;
    await connection.query(
      `UPDATE ${this.tables.leases}
       SET epoch = epoch + 1, holder = $2, acquired_at = ${now}, expires_at = ${later("$3")}
       WHERE scope = $1`,
      [this.scope, holder, ttlMs],
    );
    const [taken] = await connection.query<Lease>(
      `SELECT epoch FROM ${this.tables.leases} WHERE scope = $1`,
      [this.scope],
    );
    return { epoch: taken?.epoch ?? "" };
  }
}

interface CurrentLease extends LeaseHolder {
  readonly held: boolean;
}

/** What MySQL finds to be true is 1, or the text of it. */
type LeaseColumns = Omit<CurrentLease, "held"> & { readonly held: unknown };

const currentLease = (row: LeaseColumns | undefined): CurrentLease | undefined =>
  row && { ...row, held: Number(row.held) === 1 };

const leaseLost = (): SyncError =>
  new SyncError("LEASE_LOST", "another instance has taken the lease", {
    hint: "nothing more was changed; that instance settles what was under way",
  });
