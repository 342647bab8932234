import { escapeLiteral } from "pg";
import type { SyncError } from "../../core/errors.ts";
import { Secret } from "../../core/secret.ts";
import type { Lease, Ledger, LedgerTransaction } from "../../ports/ledger.ts";
import type { StoredToken, TokenStore } from "../../ports/token-store.ts";
import type { Database, Queryable } from "./database.ts";
import { databaseError, isDataError } from "./failures.ts";
import { quoteName, quoteTable } from "./identifiers.ts";
import { PostgresLedger } from "./ledger.ts";
import { PostgresLedgerTransaction } from "./ledger-transaction.ts";
import { orElse, togetherOrEach } from "./savepoint.ts";
import { withoutTokens } from "./token-error.ts";
import { TokenRefusals } from "./token-refusals.ts";
import { prepareTokenTable, type TokenTableOptions, tableExists } from "./token-table-preparation.ts";

/** A row that was found for a group. */
interface TokenRow {
  readonly id: string;
  readonly token: string | null;
}

/** Why one group's token could not be stored or removed. */
type Refusal = readonly [user_group_id: string, error: SyncError];

const IDS = "unnest($1::text[]) AS t (id)";
const TOKENS = "unnest($1::text[], $2::text[]) AS t (id, token)";

const columnsOf = (tokens: readonly StoredToken[]): string[][] => [
  tokens.map((entry) => entry.user_group_id),
  tokens.map((entry) => entry.token.reveal()),
];

/** An empty text is no token: a column that takes no NULL may be full of them. */
const tokensOf = (rows: readonly TokenRow[]): [id: string, token: Secret][] =>
  rows.flatMap(({ id, token }) => (token ? [[id, new Secret(token)]] : []));

const secretsIn = (rows: readonly TokenRow[]): Secret[] => tokensOf(rows).map(([, token]) => token);

/** Tokens in a table of the customer's database. */
export class PostgresTokenTable implements TokenStore {
  readonly #database: Database;
  readonly #options: TokenTableOptions;
  readonly #refusals: TokenRefusals;
  readonly #table: string;
  readonly #id: string;
  readonly #token: string;
  /** Of the id column, so that its index serves the look-up. */
  #idType = "text";

  constructor(database: Database, options: TokenTableOptions) {
    this.#database = database;
    this.#options = options;
    this.#refusals = new TokenRefusals(options);
    this.#table = quoteTable(options.table);
    this.#id = quoteName(options.idColumn);
    this.#token = quoteName(options.tokenColumn);
  }

  async prepare(): Promise<void> {
    try {
      this.#idType = await prepareTokenTable(this.#database, this.#options);
    } catch (error) {
      throw this.#unavailable("write tokens to", error);
    }
  }

  async holdsAny(): Promise<boolean> {
    try {
      if (!(await tableExists(this.#database, this.#options))) return false;
      const [row] = await this.#database.query<{ any: boolean }>(
        `SELECT EXISTS (SELECT 1 FROM ${this.#table} AS theirs WHERE ${this.#hasToken}) AS any`,
      );
      return row?.any ?? false;
    } catch (error) {
      throw this.#unavailable("read tokens from", error);
    }
  }

  async read(ids: readonly string[]): Promise<ReadonlyMap<string, Secret>> {
    const select = (matches: string) => this.#database.query<TokenRow>(this.#select(matches), [ids]);
    try {
      const rows = await select(this.#matches).catch((error: unknown) => {
        if (!isDataError(error)) throw error;
        return select(this.#matchesText);
      });
      return new Map(tokensOf(rows));
    } catch (error) {
      throw this.#unavailable("read tokens from", error);
    }
  }

  async write(
    tokens: readonly StoredToken[],
    transaction: LedgerTransaction,
    { rewrite = false }: { readonly rewrite?: boolean } = {},
  ): Promise<ReadonlyMap<string, SyncError>> {
    try {
      const refusals = await this.#within(transaction, (connection) =>
        togetherOrEach<StoredToken, Refusal>(
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
    if (!(ledger instanceof PostgresLedger && ledger.database === this.#database)) return false;
    const statement = `WITH lease AS (${ledger.ifHeld(lease)}),
      ${this.#written(`${TOKENS} CROSS JOIN lease`)}`;
    try {
      const rows = await this.#database.query<TokenRow>(statement, columnsOf([token]));
      return rows.some((row) => row.token === token.token.reveal());
    } catch (error) {
      if (isDataError(error)) return false;
      throw this.#unavailable("write tokens to", withoutTokens(error, [token.token]));
    }
  }

  async remove(
    ids: readonly string[],
    transaction: LedgerTransaction,
  ): Promise<ReadonlyMap<string, SyncError>> {
    // What refuses to let a token go may quote it: only a token that is known can be kept out of an error.
    let rows: readonly TokenRow[] = [];
    try {
      const refusals = await this.#within(transaction, async (connection) => {
        rows = await this.#find(ids, connection);
        const secretsOf = (id: string): Secret[] => secretsIn(rows.filter((row) => row.id === id));
        return togetherOrEach<string, Refusal>(
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
    const shared =
      transaction instanceof PostgresLedgerTransaction && transaction.database === this.#database;
    return shared ? body(transaction.connection) : this.#database.transaction("BEGIN", body);
  }

  /** Resolves to those that did not get into the table; rejects where the data of one is refused. */
  async #write(
    tokens: readonly StoredToken[],
    connection: Queryable,
    rewrite: boolean,
  ): Promise<readonly Refusal[]> {
    const wanted = new Map(tokens.map((entry) => [entry.user_group_id, entry.token.reveal()]));
    const write = async (statement: string): Promise<ReadonlySet<string>> => {
      const { rows } = await connection.query<TokenRow>(statement, columnsOf(tokens));
      // A trigger can put another token in its place, and the old one at that.
      return new Set(rows.filter(({ id, token }) => token === wanted.get(id)).map(({ id }) => id));
    };
    const changed = await write(`WITH ${this.#written()}`);
    const written = rewrite ? await write(this.#rewrite) : changed;
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
    const { rows } = await connection.query<{ id: string; isThere: boolean | null }>(
      `SELECT t.id, there."isThere" FROM ${TOKENS} CROSS JOIN LATERAL (
         SELECT bool_and(theirs.${this.#token} IS NOT DISTINCT FROM t.token) AS "isThere"
         FROM ${this.#table} AS theirs WHERE ${this.#matches}) AS there`,
      columnsOf(unwritten),
    );
    const hasRow = (isThere: boolean | null): boolean => isThere !== null || this.#options.rows === "own";
    return rows
      .filter(({ isThere }) => rewrite || !isThere)
      .map(({ id, isThere }) => [
        id,
        hasRow(isThere) ? this.#refusals.skipped(id) : this.#refusals.noRow(id),
      ]);
  }

  /** The rows that have something to remove. */
  async #find(ids: readonly string[], connection: Queryable): Promise<readonly TokenRow[]> {
    const select = async (matches: string) =>
      (await connection.query<TokenRow>(this.#select(matches), [ids])).rows;
    return orElse(
      connection,
      () => select(this.#matches),
      () => select(this.#matchesText),
    );
  }

  /** Resolves to those that are still there; rejects where the data of one is refused. */
  async #remove(ids: readonly string[], connection: Queryable): Promise<readonly Refusal[]> {
    const { rows } = await connection.query<{ id: string }>(this.#delete, [ids]);
    const removed = new Set(rows.map((row) => row.id));
    return ids.filter((id) => !removed.has(id)).map((id) => [id, this.#refusals.kept(id)]);
  }

  #select(matches: string): string {
    const found = `SELECT t.id, theirs.${this.#token}::text AS token
      FROM ${IDS} JOIN ${this.#table} AS theirs ON ${matches}`;
    return this.#options.rows === "own" ? found : `${found} WHERE ${this.#hasToken}`;
  }

  /** Writes the tokens that are new, tells those who listen, and selects the rows as they are then. */
  #written(tokens = TOKENS): string {
    const token = this.#token;
    const { rows, notify } = this.#options;
    const changed =
      rows === "own"
        ? `${this.#insert(tokens)} DO UPDATE SET ${token} = excluded.${token}, updated_at = excluded.updated_at
           WHERE own.${token} IS DISTINCT FROM excluded.${token} ${this.#returning}`
        : `${this.#update(tokens)} AND theirs.${token} IS DISTINCT FROM t.token ${this.#returning}`;
    const told = notify === undefined ? "" : `, pg_notify(${escapeLiteral(notify)}, id)`;
    return `written AS (${changed}) SELECT id, token${told} FROM written`;
  }

  /** Writes tokens that are there already, as `#written` writes new ones, and returns their rows. */
  get #rewrite(): string {
    return this.#options.rows === "own"
      ? `${this.#insert()} DO UPDATE SET ${this.#token} = excluded.${this.#token} ${this.#returning}`
      : `${this.#update()} ${this.#returning}`;
  }

  get #returning(): string {
    return this.#options.rows === "own"
      ? `RETURNING own.${this.#id}::text AS id, own.${this.#token}::text AS token`
      : `RETURNING t.id, theirs.${this.#token}::text AS token`;
  }

  /** Its conflict is left to the caller. */
  #insert(tokens = TOKENS): string {
    return `INSERT INTO ${this.#table} AS own (${this.#id}, ${this.#token}, updated_at)
      SELECT t.id, t.token, now() FROM ${tokens} ON CONFLICT (${this.#id})`;
  }

  #update(tokens = TOKENS): string {
    return `UPDATE ${this.#table} AS theirs SET ${this.#token} = t.token FROM ${tokens} WHERE ${this.#matches}`;
  }

  /** Returns the ids whose tokens were removed. */
  get #delete(): string {
    return this.#options.rows === "own"
      ? `DELETE FROM ${this.#table} AS theirs USING ${IDS} WHERE ${this.#matches} RETURNING t.id`
      : `UPDATE ${this.#table} AS theirs SET ${this.#token} = NULL FROM ${IDS}
         WHERE ${this.#matches} AND ${this.#hasToken} RETURNING t.id`;
  }

  get #hasToken(): string {
    return `theirs.${this.#token} <> ''`;
  }

  /** Compared as the column's type for its index, and as text for its bytes: citext takes 'a' for 'A'. */
  get #matches(): string {
    return `theirs.${this.#id} = t.id::${this.#idType} AND ${this.#matchesText}`;
  }

  /** Without the index, but also for an id that is none of the column's type: it has no row then. */
  get #matchesText(): string {
    return `theirs.${this.#id}::text = t.id`;
  }

  #unavailable(doing: string, error: unknown): SyncError {
    return databaseError("TOKEN_STORE_UNAVAILABLE", `cannot ${doing} ${this.#options.table}`, error);
  }
}
