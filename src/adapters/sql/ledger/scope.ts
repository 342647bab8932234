import { SyncError } from "../../../core/failure/sync-error.ts";
import type { Queryable } from "../connection/connections.ts";
import { databaseError } from "../connection/failures.ts";
import { storable } from "../connection/storable.ts";
import { once } from "../connection/table-place.ts";
import type { Database } from "../dialect/database.ts";
import type { Assignments, ColumnType, Dialect } from "../dialect/dialect.ts";
import {
  type LedgerLocation,
  type LedgerTables,
  ledgerTables,
  ownedTables,
} from "../dialect/ledger-tables.ts";
import { insistOnOwner } from "../dialect/table-owner.ts";

/**
 * One scope of the ledger's tables, and the connection for its statements. Writes need a connection in a transaction.
 */
export interface LedgerScope {
  readonly dialect: Dialect;
  readonly connection: Queryable;
  readonly tables: LedgerTables;
  readonly scope: string;
}

/** A condition: the group is of scope $1 and its id is one of $2. */
export const ofIds = ({ dialect }: LedgerScope): string =>
  `scope = $1 AND ${dialect.isOneOf("user_group_id", "$2")}`;

/** PostgreSQL would refuse the other ids, and the ledger has none of them. */
export const possibleIds = (ids: readonly string[]): string[] => ids.filter((id) => storable(id) === id);

/**
 * A condition: the group has a token. Not `IS NOT NULL`, which the index on tokens has as its condition: as long as a new
 * table has no statistics, PostgreSQL would choose that index for a query by id, and read the whole scope.
 */
export const HAS_TOKEN = "coalesce(token_fingerprint, '') <> ''";

/**
 * Updates the groups that the rows name. `more` are the values from $4 on. The statement gets the ids twice: for the
 * join alone, PostgreSQL would read the whole table as long as a new table has no statistics.
 */
export async function updateGroups(
  { dialect, connection, tables, scope }: LedgerScope,
  rows: readonly { readonly id: string }[],
  columns: Readonly<Record<string, ColumnType>>,
  set: Assignments,
  more: readonly unknown[] = [],
  condition = "TRUE",
): Promise<void> {
  // With no rows, MariaDB would read and lock the whole table.
  if (rows.length === 0) return;
  await connection.query(
    dialect.updateFrom({
      table: tables.groups,
      from: dialect.rows("$3", columns),
      set,
      where: `g.scope = $1 AND ${dialect.isOneOf("g.user_group_id", "$2")} AND g.user_group_id = t.id AND ${condition}`,
    }),
    [scope, rows.map(({ id }) => id), JSON.stringify(rows), ...more],
  );
}

/** Sets columns of the scope's row in a table that has one row for each scope. Makes the row if it is missing. */
export async function setScopeRow(
  { dialect, connection, scope }: LedgerScope,
  table: string,
  values: Readonly<Record<string, unknown>>,
): Promise<void> {
  const columns = Object.keys(values);
  const places = ["scope", ...columns].map((_, index) => `$${index + 1}`);
  await connection.query(
    dialect.upsert({
      into: table,
      columns: ["scope", ...columns],
      from: `VALUES (${places.join(", ")})`,
      key: ["scope"],
      set: (is) => Object.fromEntries(columns.map((column) => [column, is(column)])),
    }),
    [scope, ...Object.values(values)],
  );
}

/** How many rows of a table fulfil the condition. */
export async function countWhere(
  { connection }: LedgerScope,
  table: string,
  condition: string,
  values: readonly unknown[],
): Promise<number> {
  const [row] = await connection.query<{ count: string }>(
    `SELECT count(*) AS "count" FROM ${table} WHERE ${condition}`,
    values,
  );
  return Number(row?.count ?? 0);
}

/** The version of the tables that the ledger's statements are written for. */
export const LATEST_VERSION = 100;
/**
 * The first version that this groupsync can bring up to date. Builds from before the first release had smaller ones. Once there is
 * another version, a reader may meet a ledger that no sync has brought up to date yet, and `read` has to refuse it.
 */
const FIRST_VERSION = 100;

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
  /** The tables' version. Read until it is the latest, and no more after that. */
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
      (version) => version === LATEST_VERSION,
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
  if (version > LATEST_VERSION) {
    throw new SyncError(
      "LEDGER_TOO_NEW",
      `the ledger has version ${version}, and this groupsync knows versions up to ${LATEST_VERSION}`,
      { hint: "a newer groupsync has been at work on it: run that one" },
    );
  }
  if (version > 0 && version < FIRST_VERSION) {
    throw new SyncError(
      "LEDGER_OUTDATED",
      `the ledger has version ${version}: a groupsync from before the first release made it, and this groupsync can't read it`,
      {
        hint: "nothing was changed. First let the groupsync that made it delete the groups of tenants that are gone: a new ledger doesn't know them. Then set ledger.table_prefix to a new name and run `groupsync sync`, which takes over all other groups with their tokens: see docs/operations.md",
      },
    );
  }
  return version;
}

/** In UTF-16 code units. MariaDB refuses statements beyond 16 MB, and quoting can make a text four times as long. */
const BATCH_LENGTH = 1_000_000;

/**
 * The rows as JSON arrays, each small enough for one statement. A row that is longer than a batch has an array of its
 * own.
 */
export function* jsonBatches(rows: Iterable<object>): Generator<string> {
  let batch: string[] = [];
  let length = 0;
  for (const row of rows) {
    const text = JSON.stringify(row);
    if (batch.length > 0 && length + text.length > BATCH_LENGTH) {
      yield `[${batch.join(",")}]`;
      batch = [];
      length = 0;
    }
    batch.push(text);
    length += text.length;
  }
  if (batch.length > 0) yield `[${batch.join(",")}]`;
}
