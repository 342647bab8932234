import type { SyncError } from "../../core/errors.ts";
import { Secret } from "../../core/secret.ts";
import { laggingIn } from "../../core/token-copies.ts";
import type { Lease, Ledger, LedgerTransaction } from "../../ports/ledger.ts";
import type { ChangeOptions, StoredToken, TokenStore, WriteOptions } from "../../ports/token-store.ts";
import type { Queryable } from "./connections.ts";
import type { Database } from "./database.ts";
import { databaseError } from "./failures.ts";
import { SqlLedger } from "./ledger.ts";
import { SqlLedgerTransaction } from "./ledger-transaction.ts";
import { orElse, togetherOrEach } from "./savepoint.ts";
import { withoutTokens } from "./token-error.ts";
import { TokenRefusals } from "./token-refusals.ts";
import type { TokenRow, TokenStatements, TokenTableOptions } from "./token-statements.ts";

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
  readonly #statements: TokenStatements;
  readonly #refusals: TokenRefusals;

  constructor(database: Database, options: TokenTableOptions) {
    this.#database = database;
    this.#options = options;
    this.#statements = database.dialect.tokenStatements(options);
    this.#refusals = new TokenRefusals(database.dialect, this.#statements, options);
  }

  async prepare(): Promise<void> {
    try {
      await this.#statements.prepare(this.#database);
    } catch (error) {
      throw this.#unavailable("write tokens to", error);
    }
  }

  async holdsAny(): Promise<boolean> {
    try {
      return await this.#statements.holdsAny(this.#database);
    } catch (error) {
      throw this.#unavailable("read tokens from", error);
    }
  }

  async read(ids: readonly string[]): Promise<ReadonlyMap<string, Secret>> {
    const find = (byText: boolean) => this.#statements.find(this.#database, ids, byText);
    try {
      const rows = await find(false).catch((error: unknown) => {
        if (!this.#database.dialect.isDataError(error)) throw error;
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
    try {
      const refusals = await this.#within(transaction, (connection) =>
        togetherOrEach<StoredToken, Refusal>(
          this.#database.dialect,
          connection,
          tokens,
          (some) => this.#write(some, connection, rewrite),
          ({ user_group_id, token }, error) => [user_group_id, this.#refusals.notStored(error, token)],
        ),
      );
      return new Map(refusals);
    } catch (error) {
      const secrets = tokens.map((entry) => entry.token);
      throw this.#unavailable("write tokens to", withoutTokens(error, secrets));
    }
  }

  async writeAtOnce(token: StoredToken, ledger: Ledger, lease: Lease): Promise<boolean> {
    if (!(ledger instanceof SqlLedger && ledger.database === this.#database)) return false;
    const statement = this.#statements.writeIf(ledger.ifHeld(lease), token);
    if (!statement) return false;
    try {
      const rows = await this.#database.query<TokenRow>(statement.text, statement.values);
      return rows.some((row) => row.token === token.token.reveal());
    } catch (error) {
      if (this.#database.dialect.isDataError(error)) return false;
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
      const refusals = await this.#within(transaction, async (connection) => {
        rows = await this.#find(ids, connection);
        const secretsOf = (id: string): Secret[] => secretsIn(rows.filter((row) => row.id === id));
        return togetherOrEach<string, Refusal>(
          this.#database.dialect,
          connection,
          [...new Set(rows.map((row) => row.id))],
          (some) => this.#remove(some, connection),
          (id, error) => [id, this.#refusals.notRemoved(id, error, secretsOf(id))],
        );
      });
      return new Map(refusals);
    } catch (error) {
      throw this.#unavailable("remove tokens from", withoutTokens(error, secretsIn(rows)));
    }
  }

  /** In the ledger's transaction where the tokens are in its database, else in one of their own. */
  #within<T>(transaction: LedgerTransaction, body: (connection: Queryable) => Promise<T>): Promise<T> {
    const shared = transaction instanceof SqlLedgerTransaction && transaction.database === this.#database;
    return shared
      ? body(transaction.connection)
      : this.#database.transaction(this.#database.dialect.begin.tokens, body);
  }

  /** Resolves to those that did not get into the table; rejects where the data of one is refused. */
  async #write(
    tokens: readonly StoredToken[],
    connection: Queryable,
    rewrite: boolean,
  ): Promise<readonly Refusal[]> {
    const wanted = new Map(tokens.map((entry) => [entry.user_group_id, entry.token.reveal()]));
    const rows = await this.#statements.write(connection, tokens, rewrite);
    // A trigger can put another token in its place, and the old one at that.
    const written = new Set(rows.filter(({ id, token }) => token === wanted.get(id)).map(({ id }) => id));
    const unwritten = tokens.filter((entry) => !written.has(entry.user_group_id));
    return this.#whyNot(unwritten, connection, rewrite);
  }

  /**
   * A trigger, a policy or a rule can have a write skipped without a word. Nothing to say of tokens that are there,
   * unless they should have been written all the same.
   */
  async #whyNot(
    unwritten: readonly StoredToken[],
    connection: Queryable,
    rewrite: boolean,
  ): Promise<readonly Refusal[]> {
    if (unwritten.length === 0) return [];
    const checks = await this.#statements.check(connection, unwritten);
    const hasRow = (isThere: boolean | null): boolean => isThere !== null || this.#options.rows === "own";
    return checks
      .filter(({ isThere }) => rewrite || !isThere)
      .map(({ id, isThere }) => [
        id,
        hasRow(isThere) ? this.#refusals.skipped(id) : this.#refusals.noRow(id),
      ]);
  }

  /** The rows that have something to remove. */
  #find(ids: readonly string[], connection: Queryable): Promise<readonly TokenRow[]> {
    return orElse(
      this.#database.dialect,
      connection,
      () => this.#statements.find(connection, ids, false),
      () => this.#statements.find(connection, ids, true),
    );
  }

  /** Resolves to those that are still there; rejects where the data of one is refused. */
  async #remove(ids: readonly string[], connection: Queryable): Promise<readonly Refusal[]> {
    const removed = new Set(await this.#statements.remove(connection, ids));
    return ids.filter((id) => !removed.has(id)).map((id) => [id, this.#refusals.kept(id)]);
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
