import { SyncError } from "../../../core/failure/sync-error.ts";
import { databaseError } from "../connection/failures.ts";
import { once } from "../connection/once.ts";
import type { Database } from "../dialect/database.ts";
import {
  LEDGER_VERSION,
  type LedgerLocation,
  type LedgerTables,
  ledgerTables,
  ownedTables,
} from "../dialect/ledger-tables.ts";
import { insistOnOwner } from "../dialect/table-owner.ts";
import type { LedgerScope } from "./scope.ts";

/** Finds the ledger's tables and reads one scope of them. It serves one command or one run, and no longer. */
export class LedgerReader {
  readonly database: Database;
  readonly location: LedgerLocation;
  readonly scope: string;
  /**
   * Finds the tables once. Keeps them even if tables of the same names appear later in another schema of the user's
   * path.
   */
  readonly tables: () => Promise<LedgerTables>;
  /** Undefined if the tables' names need no schema, or if no schema was found. */
  readonly #schema: () => Promise<string | undefined>;
  /** The tables' version; 0 until they are there. Not read again after that. */
  readonly #version: () => Promise<number>;

  constructor(database: Database, location: LedgerLocation, scope: string) {
    this.database = database;
    this.location = location;
    this.scope = scope;
    const { dialect } = database;
    const isFound = (schema: string | undefined): boolean => schema !== undefined;
    this.#schema = once(() => dialect.ledgerSchema(database, location), isFound);
    const ownSchema = once(() => this.insistOnOwner().then(this.#schema), isFound);
    this.tables = async () => ledgerTables(dialect, { ...location, schema: await ownSchema() });
    this.#version = once(
      async () => ledgerVersion(database, await this.tables()),
      (version) => version === LEDGER_VERSION,
    );
  }

  /** The database's clock. */
  async now(): Promise<Date> {
    const { dialect } = this.database;
    try {
      const [row] = await this.database.query<{ now: Date }>(`SELECT ${dialect.now} AS "now"`);
      if (!row) throw new Error("it doesn't tell its time");
      return row.now;
    } catch (error) {
      throw databaseError(dialect, "LEDGER_UNAVAILABLE", "cannot read the database's clock", error);
    }
  }

  /** Rejects with CONFIG_TABLE_OWNER. */
  async insistOnOwner(): Promise<void> {
    const schema = await this.#schema();
    if (schema === undefined) return;
    await insistOnOwner(this.database, { schema, ...ownedTables(this.location) });
  }

  /** Resolves to `empty` if there are no tables. Rejects with LEDGER_OUTDATED or LEDGER_UNAVAILABLE. */
  async read<T>(empty: T, body: (ledger: LedgerScope) => Promise<T>): Promise<T> {
    try {
      const version = await this.#version();
      if (version === 0) return empty;
      const { database, scope } = this;
      return await body({
        dialect: database.dialect,
        connection: database,
        tables: await this.tables(),
        scope,
      });
    } catch (error) {
      throw databaseError(this.database.dialect, "LEDGER_UNAVAILABLE", "cannot read the ledger", error);
    }
  }
}

/**
 * The version of the tables; 0 if there are none yet. Rejects with LEDGER_TOO_NEW or LEDGER_OUTDATED if this program doesn't
 * know it.
 */
export async function ledgerVersion(database: Database, { migrations }: LedgerTables): Promise<number> {
  if (!(await database.dialect.tableExists(database, migrations))) return 0;
  const [row] = await database.query<{ version: number }>(
    `SELECT coalesce(max(version), 0) AS version FROM ${migrations}`,
  );
  const version = Number(row?.version ?? 0);
  if (version > LEDGER_VERSION) {
    throw new SyncError(
      "LEDGER_TOO_NEW",
      `the ledger has version ${version}, and this groupsync knows versions up to ${LEDGER_VERSION}`,
      { hint: "a newer groupsync has been at work on it: run that one" },
    );
  }
  if (version > 0 && version < LEDGER_VERSION) {
    throw new SyncError(
      "LEDGER_OUTDATED",
      `the ledger has version ${version}: a groupsync from before the first release made it, and this groupsync can't read it`,
      {
        hint: "nothing was changed. First let the groupsync that made it delete the groups of tenants that are gone: a new ledger doesn't know them. Then set ledger.table_prefix to a new name and run `groupsync sync`, which takes over all other groups with their tokens",
      },
    );
  }
  return version;
}
