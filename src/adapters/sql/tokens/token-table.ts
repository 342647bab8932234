import { SyncError } from "../../../core/failure/sync-error.ts";
import { Secret } from "../../../core/secret/secret.ts";
import {
  type LaggingToken,
  LONGEST_PUT,
  laggingIn,
  type Refusals,
} from "../../../core/tokens/token-copies.ts";
import type { Lease } from "../../../ports/ledger/lease.ts";
import type { LedgerTransaction } from "../../../ports/ledger/ledger.ts";
import type {
  ChangeOptions,
  OutsideStore,
  StoredToken,
  TokenDestination,
  TokenStore,
  TokenTables,
  WriteOptions,
} from "../../../ports/token-store.ts";
import type { InTransaction, Queryable } from "../connection/connections.ts";
import { databaseError } from "../connection/failures.ts";
import { nameOf } from "../connection/identifiers.ts";
import { once } from "../connection/once.ts";
import type { TablePlace } from "../connection/table-place.ts";
import { WRITE } from "../connection/wait-limits.ts";
import { type Database, insistOnWrites } from "../dialect/database.ts";
import type { Dialect } from "../dialect/dialect.ts";
import { insistOnOwner } from "../dialect/table-owner.ts";
import type { TokenRow, TokenStatements, TokenTableOptions } from "../dialect/token-statements.ts";
import { orElse, rethrow, type Savepoints, TransactionLost, togetherOrEach } from "./savepoint.ts";
import { type RefusalCode, type TokenRefusals, tokenRefusals, withoutTokens } from "./token-refusals.ts";
import { type MarkedTable, tokenTableOwner } from "./token-table-owner.ts";

/** How many ids are read at a time. */
const BATCH = 5_000;

/** An empty text is no token: a column that takes no NULL may be full of them. */
const tokensOf = (rows: readonly TokenRow[]): [id: string, token: Secret][] =>
  rows.flatMap(({ id, token }) => (token ? [[id, new Secret(token)]] : []));

const secretsIn = (rows: readonly TokenRow[]): Secret[] => tokensOf(rows).map(([, token]) => token);

/** The ledger of the database that the token table is in. Its transactions write the tokens too. */
export interface LedgerBesideTokens {
  /** The database connection of a transaction that this ledger has open. */
  sessionOf(transaction: LedgerTransaction): InTransaction;
  /** A query that finds a row if the lease is held and no other group of the scope has this token. */
  ifOfNoOther(token: StoredToken, lease: Lease): Promise<string>;
}

/** The limits of a change in a transaction of its own. Its COMMIT changes the table, and the lease is looked at right before. */
const OUTSIDE = { ...WRITE, lockMs: 5_000, answerMs: LONGEST_PUT };

/** Tokens in a table of the customer's database. */
export class SqlTokenTable implements TokenStore, OutsideStore, TokenTables {
  readonly outside: OutsideStore | undefined;
  readonly tables: TokenTables | undefined;
  readonly batchSize: number;
  readonly #database: Database;
  readonly #options: TokenTableOptions;
  readonly #ledger: LedgerBesideTokens | undefined;
  readonly #refusals: TokenRefusals;
  /** The table, found once, with all statements on it. */
  readonly #open: () => Promise<OpenTable>;
  readonly destinations: readonly TokenDestination[];
  /** Never rejects. */
  #lastChange: Promise<unknown> = Promise.resolve();

  /** `ledger`: left out if the ledger is in another database. */
  constructor(database: Database, options: TokenTableOptions, ledger?: LedgerBesideTokens) {
    this.#database = database;
    this.#options = options;
    // One statement writes them all. The customer's own table may have slow triggers, and rows that others have locked:
    // each of those is waited for in the same transaction.
    this.batchSize = options.rows === "own" ? 256 : 64;
    this.#ledger = ledger;
    this.outside = ledger ? undefined : this;
    this.tables = ledger ? this : undefined;
    this.#refusals = tokenRefusals(options);
    this.#open = once(
      () => openTable(database, options),
      ({ marked }) => marked !== undefined,
    );
    const contents = { holdsAny: () => this.#holdsAny(), ids: () => this.#ids() };
    const place = async () => (await this.#open()).marked;
    this.destinations = [tokenTableOwner(database, options, place, contents)];
  }

  async prepare(): Promise<void> {
    try {
      const { statements, insistIfNew } = await this.#open();
      await statements.prepare(this.#database);
      // Somebody else may have created the table just before `prepare` did.
      await insistIfNew();
    } catch (error) {
      throw this.#unavailable("write tokens to", error);
    }
  }

  async inspect(): Promise<void> {
    try {
      await insistOnWrites(this.#database);
      const { statements } = await this.#open();
      await statements.inspect(this.#database);
    } catch (error) {
      throw this.#unavailable("write tokens to", error);
    }
  }

  async #holdsAny(): Promise<boolean> {
    try {
      const { statements } = await this.#open();
      return await statements.holdsAny(this.#database);
    } catch (error) {
      throw this.#unavailable("read tokens from", error);
    }
  }

  async *#ids(): AsyncGenerator<readonly string[]> {
    if (!(await this.#holdsAny())) return;
    const { dialect } = this.#database;
    try {
      const { statements } = await this.#open();
      const batches = this.#database.byRolesPath.stream<[id: string]>(
        dialect.begin.snapshot,
        statements.selectIds,
        [],
        BATCH,
      );
      for await (const rows of batches) yield rows.map(([id]) => id);
    } catch (error) {
      throw this.#unavailable("read tokens from", error);
    }
  }

  async read(ids: readonly string[]): Promise<ReadonlyMap<string, Secret>> {
    try {
      const { statements } = await this.#open();
      const { dialect, byRolesPath } = this.#database;
      const rows = await findRows(dialect, ids, (some) => statements.find(byRolesPath, some));
      return new Map(tokensOf(rows));
    } catch (error) {
      throw this.#unavailable("read tokens from", error);
    }
  }

  async put(token: StoredToken, options?: ChangeOptions & WriteOptions): Promise<SyncError | undefined> {
    return refusalOf(token.user_group_id, this.write([token], null, options));
  }

  async drop(id: string, options?: ChangeOptions): Promise<SyncError | undefined> {
    return refusalOf(id, this.remove([id], null, options));
  }

  write(
    tokens: readonly StoredToken[],
    transaction: LedgerTransaction | null,
    { rewrite = false, assertHeld }: ChangeOptions & WriteOptions = {},
  ): Promise<Refusals> {
    const refusals = this.#refusals;
    return this.#change("TOKEN_NOT_STORED", transaction, assertHeld, (statements, savepoints, quotable) => {
      quotable.push(...tokens.map(({ token }) => token));
      return togetherOrEach<StoredToken, Refusal>(
        savepoints,
        tokens,
        (some) => writeTokens(statements, refusals, some, savepoints.connection, rewrite),
        ({ user_group_id, token }, error) => [user_group_id, refusals.notStored(error, token)],
      );
    });
  }

  async writeAtOnce(token: StoredToken, lease: Lease): Promise<boolean> {
    const ledger = this.#ledger;
    if (!ledger) return false;
    const database = this.#database;
    try {
      const { statements } = await this.#open();
      const statement = statements.writeIf(await ledger.ifOfNoOther(token, lease), token);
      if (!statement) return false;
      const rows = await database.byRolesPath
        .write(statement.text, statement.values)
        .catch(async (error: unknown): Promise<unknown[]> => {
          if (database.dialect.isGeneral(error)) throw error;
          // Try again without any token: if that fails too, the fault is the table's.
          await statements.write({ query: (...asked) => database.byRolesPath.write(...asked) }, [], false);
          return [];
        });
      if (rows.length === 0) return false;
      // Look at what the table has: see `writeTokens`.
      const stored = (await this.read([token.user_group_id])).get(token.user_group_id);
      return stored?.equals(token.token) ?? false;
    } catch (error) {
      throw this.#unavailable("write tokens to", withoutTokens(error, [token.token]));
    }
  }

  async lagging(expected: ReadonlyMap<string, string>): Promise<ReadonlyMap<string, LaggingToken>> {
    return laggingIn(expected, [await this.read([...expected.keys()])]);
  }

  remove(
    ids: readonly string[],
    transaction: LedgerTransaction | null,
    { assertHeld }: ChangeOptions = {},
  ): Promise<Refusals> {
    const refusals = this.#refusals;
    return this.#change(
      "TOKEN_NOT_REMOVED",
      transaction,
      assertHeld,
      async (statements, savepoints, quotable) => {
        const { dialect, connection } = savepoints;
        // Read the tokens first: an error may quote a token, and only a known token can be kept out of the message. The
        // transaction goes on after a statement that fails.
        const rows = await findRows(dialect, ids, (some) =>
          orElse(savepoints, () => statements.find(connection, some), rethrow),
        );
        quotable.push(...secretsIn(rows));
        return togetherOrEach<string, Refusal>(
          savepoints,
          [...new Set(rows.map((row) => row.id))],
          (some) => removeTokens(statements, refusals, some, connection),
          (id, error) => [id, refusals.notRemoved(id, error, secretsIn(rows.filter((row) => row.id === id)))],
        );
      },
    );
  }

  /** Makes a change, and explains its errors. `change` adds the tokens that the database's errors may quote. */
  async #change(
    code: RefusalCode,
    transaction: LedgerTransaction | null,
    assertHeld: () => void = () => {},
    change: (
      statements: TokenStatements,
      savepoints: Savepoints,
      quotable: Secret[],
    ) => Promise<readonly Refusal[]>,
  ): Promise<Refusals> {
    const quotable: Secret[] = [];
    try {
      const { statements } = await this.#open();
      const body = (savepoints: Savepoints) => change(statements, savepoints, quotable);
      return new Map(await this.#within(transaction, assertHeld, body));
    } catch (thrown) {
      const isLost = thrown instanceof TransactionLost;
      const error = isLost ? thrown.cause : thrown;
      // A smaller batch would wait as long for the lock.
      if (isLost && !this.#database.dialect.isLockTimeout(error))
        throw this.#refusals.rolledBack(code, error, quotable);
      const doing = code === "TOKEN_NOT_STORED" ? "write tokens to" : "remove tokens from";
      throw this.#unavailable(doing, withoutTokens(error, quotable));
    }
  }

  /**
   * Runs `body` in the ledger's transaction, or in one of its own if the ledger is in another database: one after the other, because
   * the pool has few connections.
   */
  #within<T>(
    transaction: LedgerTransaction | null,
    assertHeld: () => void,
    body: (savepoints: Savepoints) => Promise<T>,
  ): Promise<T> {
    const { dialect } = this.#database;
    if (transaction && this.#ledger)
      return body({ dialect, connection: this.#ledger.sessionOf(transaction) });
    const alone = async (connection: InTransaction): Promise<T> => {
      const result = await body({ dialect, connection });
      assertHeld();
      return result;
    };
    const done = this.#lastChange.then(() => this.#database.transaction(dialect.begin.write, alone, OUTSIDE));
    this.#lastChange = done.catch(() => {});
    return done;
  }

  #unavailable(doing: string, error: unknown): SyncError {
    return databaseError(
      this.#database.dialect,
      "TOKEN_STORE_UNAVAILABLE",
      `cannot ${doing} ${this.#options.table}`,
      error,
    );
  }
}

/** Why one token alone was refused; also if that cost its transaction. */
async function refusalOf(id: string, refused: Promise<Refusals>): Promise<SyncError | undefined> {
  try {
    return (await refused).get(id);
  } catch (error) {
    if (error instanceof SyncError && error.code.startsWith("TOKEN_NOT_")) return error;
    throw error;
  }
}

/** A token table that was found, or the place where it would be created. */
interface OpenTable {
  readonly marked: MarkedTable | undefined;
  readonly statements: TokenStatements;
  /** Rejects with CONFIG_TABLE_OWNER unless the config trusts the owner of a table that has been created since. */
  insistIfNew(): Promise<void>;
}

async function openTable(database: Database, options: TokenTableOptions): Promise<OpenTable> {
  const { dialect } = database;
  const place = await dialect.tablePlace(database.byRolesPath, nameOf(options.table));
  const insist = () => insistOnTableOwner(database, options, place);
  await insist();
  const wasThere = place !== undefined && place.owner !== null;
  return {
    marked: place && { ...place, column: await dialect.columnName(database, place, options.tokenColumn) },
    statements: dialect.tokenStatements({ ...options, place }),
    insistIfNew: async () => {
      if (!wasThere) await insist();
    },
  };
}

/** With `rows: existing`, the config names a table of the customer and thereby trusts its owner. */
async function insistOnTableOwner(
  database: Database,
  { rows, owner }: TokenTableOptions,
  place: TablePlace | undefined,
): Promise<void> {
  if (!place || rows === "existing") return;
  const tables = { schema: place.schema, tables: [place.table], trusted: owner === undefined ? [] : [owner] };
  await insistOnOwner(database, tables);
}

/** Why one group's token could not be stored or removed. */
type Refusal = readonly [user_group_id: string, error: SyncError];

/** Resolves to the tokens that did not get into the table. Rejects if the database refuses one. */
async function writeTokens(
  statements: TokenStatements,
  refusals: TokenRefusals,
  tokens: readonly StoredToken[],
  connection: Queryable,
  rewrite: boolean,
): Promise<readonly Refusal[]> {
  const written = new Set(await statements.write(connection, tokens, rewrite));
  // A trigger, a policy, a rule or a view can skip a write without an error, or write another token instead, even the old one. A
  // token that is there already needs no write, except with `rewrite`.
  const checks = await statements.check(connection, tokens);
  return checks
    .filter(({ id, isThere }) => !isThere || (rewrite && !written.has(id)))
    .map(({ id, isThere }) => [id, refusals.notWritten(id, isThere !== null)]);
}

/**
 * The rows of these ids. If the column can't have one of the ids, `find` is called for each half of them, down to single ids,
 * and those that the column can't have are left out.
 */
async function findRows(
  dialect: Pick<Dialect, "isOfValue">,
  ids: readonly string[],
  find: (ids: readonly string[]) => Promise<readonly TokenRow[]>,
): Promise<readonly TokenRow[]> {
  try {
    return await find(ids);
  } catch (error) {
    if (!dialect.isOfValue(error)) throw error;
  }
  if (ids.length <= 1) return [];
  const half = Math.ceil(ids.length / 2);
  return [
    ...(await findRows(dialect, ids.slice(0, half), find)),
    ...(await findRows(dialect, ids.slice(half), find)),
  ];
}

/** Resolves to the tokens that are still there. Rejects if the database refuses to remove one. */
async function removeTokens(
  statements: TokenStatements,
  refusals: TokenRefusals,
  ids: readonly string[],
  connection: Queryable,
): Promise<readonly Refusal[]> {
  const removed = new Set(await statements.remove(connection, ids));
  return ids.filter((id) => !removed.has(id)).map((id) => [id, refusals.kept(id)]);
}
