import type { SyncError } from "../../core/errors.ts";
import { Secret } from "../../core/secret.ts";
import { laggingIn } from "../../core/token-copies.ts";
import type { Lease } from "../../ports/lease.ts";
import type { Ledger, LedgerTransaction } from "../../ports/ledger.ts";
import type {
  ChangeOptions,
  StoredToken,
  TokenDestination,
  TokenStore,
  WriteOptions,
} from "../../ports/token-store.ts";
import type { Queryable } from "./connections.ts";
import type { Database } from "./database.ts";
import { databaseError } from "./failures.ts";
import { SqlLedger } from "./ledger.ts";
import { SqlLedgerTransaction } from "./ledger-transaction.ts";
import { type OpenTable, openTable } from "./open-table.ts";
import { repeatedly } from "./repeatedly.ts";
import { orElse, type Savepoints, TransactionLost, togetherOrEach } from "./savepoint.ts";
import { once } from "./table-place.ts";
import { withoutTokens } from "./token-error.ts";
import type { TokenRow, TokenTableOptions } from "./token-statements.ts";
import { TokenTableOwner } from "./token-table-owner.ts";

/** Ids that are read at a time. */
const BATCH = 5_000;

/** Why one group's token could not be stored or removed. */
type Refusal = readonly [user_group_id: string, error: SyncError];

/** An empty text is no token: a column that takes no NULL may be full of them. */
const tokensOf = (rows: readonly TokenRow[]): [id: string, token: Secret][] =>
  rows.flatMap(({ id, token }) => (token ? [[id, new Secret(token)]] : []));

const secretsIn = (rows: readonly TokenRow[]): Secret[] => tokensOf(rows).map(([, token]) => token);

/** Tokens in a table of the customer's database. */
export class SqlTokenTable implements TokenStore {
  readonly #database: Database;
  readonly #options: TokenTableOptions;
  /** Says to the table, wherever it is, all that is said to it. */
  readonly #open: () => Promise<OpenTable>;
  readonly destinations: readonly TokenDestination[];

  constructor(database: Database, options: TokenTableOptions) {
    this.#database = database;
    this.#options = options;
    this.#open = once(
      () => openTable(database, options),
      ({ marked }) => marked !== undefined,
    );
    const contents = { holdsAny: () => this.holdsAny(), ids: () => this.#ids() };
    const place = async () => (await this.#open()).marked;
    this.destinations = [new TokenTableOwner(database, options, place, contents)];
  }

  async prepare(): Promise<void> {
    try {
      const { statements, insist } = await this.#open();
      await statements.prepare(this.#database);
      // Somebody may have made the table just before this user would have.
      await insist();
    } catch (error) {
      throw this.#unavailable("write tokens to", error);
    }
  }

  async inspect(): Promise<void> {
    try {
      const { statements } = await this.#open();
      await statements.inspect(this.#database);
    } catch (error) {
      throw this.#unavailable("write tokens to", error);
    }
  }

  async holdsAny(): Promise<boolean> {
    try {
      const { statements } = await this.#open();
      return await statements.holdsAny(this.#database);
    } catch (error) {
      throw this.#unavailable("read tokens from", error);
    }
  }

  async *#ids(): AsyncGenerator<readonly string[]> {
    if (!(await this.holdsAny())) return;
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
      const find = (byText: boolean) => statements.find(this.#database.byRolesPath, ids, byText);
      const rows = await find(false).catch((error: unknown) => {
        if (this.#database.dialect.isGeneral(error)) throw error;
        return find(true);
      });
      return new Map(tokensOf(rows));
    } catch (error) {
      throw this.#unavailable("read tokens from", error);
    }
  }

  async write(
    tokens: readonly StoredToken[],
    transaction: LedgerTransaction,
    { rewrite = false, assertHeld }: WriteOptions = {},
  ): Promise<ReadonlyMap<string, SyncError>> {
    assertHeld?.();
    const secrets = tokens.map((entry) => entry.token);
    try {
      const table = await this.#open();
      const refusals = await this.#within(transaction, (savepoints) =>
        togetherOrEach<StoredToken, Refusal>(
          savepoints,
          tokens,
          (some) => this.#write(table, some, savepoints.connection, rewrite),
          ({ user_group_id, token }, error) => [user_group_id, table.refusals.notStored(error, token)],
        ),
      ).catch((error: unknown) => {
        throw error instanceof TransactionLost
          ? table.refusals.notStoredTogether(error.cause, secrets)
          : error;
      });
      return new Map(refusals);
    } catch (error) {
      throw this.#unavailable("write tokens to", withoutTokens(error, secrets));
    }
  }

  async writeAtOnce(token: StoredToken, ledger: Ledger, lease: Lease): Promise<boolean> {
    if (!(ledger instanceof SqlLedger && ledger.database === this.#database)) return false;
    const database = this.#database;
    try {
      const { statements } = await this.#open();
      const statement = statements.writeIf(await ledger.ifOfNoOther(token, lease), token);
      if (!statement) return false;
      const rows = await database.byRolesPath
        .write<TokenRow>(statement.text, statement.values)
        .catch(async (error: unknown): Promise<TokenRow[]> => {
          if (database.dialect.isGeneral(error)) throw error;
          // What is refused even for no token at all is the table's fault.
          await statements.write({ query: (...asked) => database.byRolesPath.write(...asked) }, [], false);
          return [];
        });
      return rows.some((row) => row.token === token.token.reveal());
    } catch (error) {
      throw this.#unavailable("write tokens to", withoutTokens(error, [token.token]));
    }
  }

  async lagging(expected: ReadonlyMap<string, string>): Promise<ReadonlyMap<string, Secret | null>> {
    return laggingIn(expected, [await this.read([...expected.keys()])]);
  }

  async remove(
    ids: readonly string[],
    transaction: LedgerTransaction,
    { assertHeld }: ChangeOptions = {},
  ): Promise<ReadonlyMap<string, SyncError>> {
    assertHeld?.();
    // What refuses to let a token go may quote it: only a token that is known can be kept out of an error.
    let rows: readonly TokenRow[] = [];
    try {
      const table = await this.#open();
      const refusals = await this.#within(transaction, async (savepoints) => {
        rows = await this.#find(table, ids, savepoints);
        const secretsOf = (id: string): Secret[] => secretsIn(rows.filter((row) => row.id === id));
        return togetherOrEach<string, Refusal>(
          savepoints,
          [...new Set(rows.map((row) => row.id))],
          (some) => this.#remove(table, some, savepoints.connection),
          (id, error) => [id, table.refusals.notRemoved(id, error, secretsOf(id))],
        );
      }).catch((error: unknown) => {
        throw error instanceof TransactionLost
          ? table.refusals.notRemovedTogether(error.cause, secretsIn(rows))
          : error;
      });
      return new Map(refusals);
    } catch (error) {
      throw this.#unavailable("remove tokens from", withoutTokens(error, secretsIn(rows)));
    }
  }

  /** In the ledger's transaction where the tokens are in its database, else in one of their own. */
  #within<T>(transaction: LedgerTransaction, body: (savepoints: Savepoints) => Promise<T>): Promise<T> {
    const { dialect } = this.#database;
    if (transaction instanceof SqlLedgerTransaction && transaction.database === this.#database) {
      const { connection, isLastAttempt } = transaction;
      return body({ dialect, connection, isLastAttempt });
    }
    return repeatedly(dialect, (isLastAttempt) =>
      this.#database.transaction(dialect.begin.write, (connection) =>
        body({ dialect, connection, isLastAttempt }),
      ),
    );
  }

  /** Resolves to those that did not get into the table; rejects where one is refused. */
  async #write(
    table: OpenTable,
    tokens: readonly StoredToken[],
    connection: Queryable,
    rewrite: boolean,
  ): Promise<readonly Refusal[]> {
    const wanted = new Map(tokens.map((entry) => [entry.user_group_id, entry.token.reveal()]));
    const rows = await table.statements.write(connection, tokens, rewrite);
    // A trigger can put another token in its place, and the old one at that.
    const written = new Set(rows.filter(({ id, token }) => token === wanted.get(id)).map(({ id }) => id));
    const unwritten = tokens.filter((entry) => !written.has(entry.user_group_id));
    return this.#whyNot(table, unwritten, connection, rewrite);
  }

  /**
   * A trigger, a policy or a rule can have a write skipped without a word. Nothing to say of tokens that are there,
   * unless they should have been written all the same.
   */
  async #whyNot(
    { statements, refusals }: OpenTable,
    unwritten: readonly StoredToken[],
    connection: Queryable,
    rewrite: boolean,
  ): Promise<readonly Refusal[]> {
    if (unwritten.length === 0) return [];
    const checks = await statements.check(connection, unwritten);
    const hasRow = (isThere: boolean | null): boolean => isThere !== null || this.#options.rows === "own";
    return checks
      .filter(({ isThere }) => rewrite || !isThere)
      .map(({ id, isThere }) => [id, hasRow(isThere) ? refusals.skipped(id) : refusals.noRow(id)]);
  }

  /** The rows that have something to remove. */
  #find(
    { statements }: OpenTable,
    ids: readonly string[],
    savepoints: Savepoints,
  ): Promise<readonly TokenRow[]> {
    const { connection } = savepoints;
    return orElse(
      savepoints,
      () => statements.find(connection, ids, false),
      () => statements.find(connection, ids, true),
    );
  }

  /** Resolves to those that are still there; rejects where one is refused. */
  async #remove(
    { statements, refusals }: OpenTable,
    ids: readonly string[],
    connection: Queryable,
  ): Promise<readonly Refusal[]> {
    const removed = new Set(await statements.remove(connection, ids));
    return ids.filter((id) => !removed.has(id)).map((id) => [id, refusals.kept(id)]);
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
