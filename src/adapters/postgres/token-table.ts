import { describe, SyncError } from "../../core/errors.ts";
import type { LedgerTransaction } from "../../ports/ledger.ts";
import type { StoredToken, TokenStore } from "../../ports/token-store.ts";
import type { Database, Queryable } from "./database.ts";
import { databaseError, isDataError } from "./failures.ts";
import { quoteName, quoteTable } from "./identifiers.ts";
import { PostgresLedgerTransaction } from "./ledger-transaction.ts";
import { withoutTokens } from "./token-error.ts";
import { prepareTokenTable, type TokenTableOptions, tableExists } from "./token-table-preparation.ts";

const INPUT = "unnest($1::text[], $2::text[]) AS t (id, token)";

const columnsOf = (tokens: readonly StoredToken[]): string[][] => [
  tokens.map((entry) => entry.user_group_id),
  tokens.map((entry) => entry.token.reveal()),
];

/** Tokens in a table of the customer's database. */
export class PostgresTokenTable implements TokenStore {
  readonly #database: Database;
  readonly #options: TokenTableOptions;
  readonly #table: string;
  readonly #id: string;
  readonly #token: string;
  /** Of the id column, so that its index serves the look-up. */
  #idType = "text";

  constructor(database: Database, options: TokenTableOptions) {
    this.#database = database;
    this.#options = options;
    this.#table = quoteTable(options.table);
    this.#id = quoteName(options.idColumn);
    this.#token = quoteName(options.tokenColumn);
  }

  async prepare(): Promise<void> {
    try {
      this.#idType = await prepareTokenTable(this.#database, this.#options);
    } catch (error) {
      throw this.#unavailable(error);
    }
  }

  async holdsAny(): Promise<boolean> {
    try {
      if (!(await tableExists(this.#database, this.#options))) return false;
      const [row] = await this.#database.query<{ any: boolean }>(
        `SELECT EXISTS (SELECT 1 FROM ${this.#table} WHERE ${this.#token} IS NOT NULL) AS any`,
      );
      return row?.any ?? false;
    } catch (error) {
      throw this.#unavailable(error);
    }
  }

  async write(
    tokens: readonly StoredToken[],
    transaction: LedgerTransaction,
  ): Promise<ReadonlyMap<string, SyncError>> {
    const shared =
      transaction instanceof PostgresLedgerTransaction && transaction.database === this.#database;
    try {
      if (shared) return await this.#writeTogether(tokens, transaction.connection);
      return await this.#database.transaction("BEGIN", (connection) =>
        this.#writeTogether(tokens, connection),
      );
    } catch (error) {
      throw this.#unavailable(withoutTokens(error, tokens));
    }
  }

  /** All in one statement; where the data of one is refused, each on its own. */
  async #writeTogether(
    tokens: readonly StoredToken[],
    connection: Queryable,
  ): Promise<ReadonlyMap<string, SyncError>> {
    const unwritten = await this.#attempt(tokens, connection);
    if (!(unwritten instanceof SyncError)) return unwritten;
    const [only, ...others] = tokens;
    if (only && others.length === 0) return new Map([[only.user_group_id, unwritten]]);
    const refused = new Map<string, SyncError>();
    for (const token of tokens) {
      for (const [id, error] of await this.#writeTogether([token], connection)) refused.set(id, error);
    }
    return refused;
  }

  /** The tokens that did not get into the table, or why the data was refused; the transaction is good either way. */
  async #attempt(
    tokens: readonly StoredToken[],
    connection: Queryable,
  ): Promise<ReadonlyMap<string, SyncError> | SyncError> {
    await connection.query("SAVEPOINT tokens");
    try {
      const { rows } = await connection.query<{ id: string }>(this.#write, columnsOf(tokens));
      const written = new Set(rows.map((row) => row.id));
      return await this.#whyNot(
        tokens.filter((entry) => !written.has(entry.user_group_id)),
        connection,
      );
    } catch (error) {
      if (!isDataError(error)) throw error;
      await connection.query("ROLLBACK TO SAVEPOINT tokens");
      return new SyncError(
        "TOKEN_NOT_STORED",
        `${this.#options.table} refused the token: ${describe(withoutTokens(error, tokens))}`,
        { hint: `look at the type and the constraints of column ${this.#options.tokenColumn}` },
      );
    }
  }

  /** A trigger, a policy or a rule can have a write skipped without a word. Nothing to say of tokens that are there. */
  async #whyNot(
    unwritten: readonly StoredToken[],
    connection: Queryable,
  ): Promise<ReadonlyMap<string, SyncError>> {
    if (unwritten.length === 0) return new Map();
    const { rows } = await connection.query<{ id: string; differs: boolean | null }>(
      `SELECT t.id, there.differs FROM ${INPUT} CROSS JOIN LATERAL (
         SELECT bool_or(theirs.${this.#token} IS DISTINCT FROM t.token) AS differs
         FROM ${this.#table} AS theirs WHERE ${this.#matches}) AS there
       WHERE there.differs IS NOT FALSE`,
      columnsOf(unwritten),
    );
    const isSkipped = (differs: boolean | null): boolean => differs === true || this.#options.rows === "own";
    return new Map(
      rows.map(({ id, differs }) => [id, isSkipped(differs) ? this.#skipped(id) : this.#noRow(id)]),
    );
  }

  /** Returns the ids that were written. Rows that hold the token already are left untouched. */
  get #write(): string {
    const [table, id, token] = [this.#table, this.#id, this.#token];
    if (this.#options.rows === "own") {
      return `INSERT INTO ${table} AS own (${id}, ${token}, updated_at) SELECT t.id, t.token, now() FROM ${INPUT}
        ON CONFLICT (${id}) DO UPDATE SET ${token} = excluded.${token}, updated_at = now()
        WHERE own.${token} IS DISTINCT FROM excluded.${token}
        RETURNING own.${id}::text AS id`;
    }
    return `UPDATE ${table} AS theirs SET ${token} = t.token FROM ${INPUT}
      WHERE ${this.#matches} AND theirs.${token} IS DISTINCT FROM t.token
      RETURNING t.id`;
  }

  /** Compared as the column's type for its index, and as text for its bytes: citext takes 'a' for 'A'. */
  get #matches(): string {
    return `theirs.${this.#id} = t.id::${this.#idType} AND theirs.${this.#id}::text = t.id`;
  }

  #noRow(id: string): SyncError {
    const { table, idColumn } = this.#options;
    return new SyncError(
      "TOKEN_NOT_STORED",
      `${table} has no row whose ${idColumn} is ${JSON.stringify(id)}`,
      {
        hint: "with `rows: existing`, every tenant of the source needs a row there",
      },
    );
  }

  #skipped(id: string): SyncError {
    const { table, idColumn } = this.#options;
    return new SyncError(
      "TOKEN_NOT_STORED",
      `${table} did not take the token of the row whose ${idColumn} is ${JSON.stringify(id)}, and raised no error`,
      { hint: "look at its triggers, its row-level security policies and its rules" },
    );
  }

  #unavailable(error: unknown): SyncError {
    return databaseError("TOKEN_STORE_UNAVAILABLE", `cannot write tokens to ${this.#options.table}`, error);
  }
}
