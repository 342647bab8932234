import type { StoredToken } from "../../../ports/token-store.ts";
import type { Connections, Queryable } from "../../sql/connection/connections.ts";
import { quotedTable } from "../../sql/connection/table-place.ts";
import type {
  PlacedTokenTable,
  TokenCheck,
  TokenRow,
  TokenStatements,
} from "../../sql/dialect/token-statements.ts";
import { identifiers } from "../connection/identifiers.ts";
import { jsonRows } from "../connection/statement.ts";
import { tableExists } from "../connection/table-place.ts";
import { ANY_COLUMN, type IdColumn } from "./token-ids.ts";
import { prepareTokenTable } from "./token-table-preparation.ts";

const IDS = jsonRows("$1", { id: "text" });
const TOKENS = jsonRows("$1", { id: "text", token: "text" });

const bytes = (text: string): string => `CAST(${text} AS BINARY)`;
const differ = (a: string, b: string): string => `NOT (${bytes(a)} <=> ${bytes(b)})`;

/**
 * JSON_TABLE comes first in every join, because the server then finds the table's rows by their index.
 */
export class MysqlTokenStatements implements TokenStatements {
  readonly #options: PlacedTokenTable;
  readonly #table: string;
  readonly #id: string;
  readonly #token: string;
  #idColumn: IdColumn = ANY_COLUMN;

  constructor(options: PlacedTokenTable) {
    this.#options = options;
    this.#table = quotedTable(identifiers, options);
    this.#id = identifiers.quoteName(options.idColumn);
    this.#token = identifiers.quoteName(options.tokenColumn);
  }

  prepare(database: Connections): Promise<void> {
    return this.#prepare(database, true);
  }

  inspect(database: Connections): Promise<void> {
    return this.#prepare(database, false);
  }

  async #prepare(database: Connections, mayCreate: boolean): Promise<void> {
    const rehearse = () => this.#rehearse(database);
    const found = await prepareTokenTable(database, this.#options, mayCreate, rehearse);
    if (found) this.#idColumn = found;
  }

  async holdsAny(database: Connections): Promise<boolean> {
    if (!(await tableExists(database, this.#table))) return false;
    const rows = await database.query(
      `SELECT 1 FROM ${this.#table} AS theirs WHERE ${this.#hasToken} LIMIT 1`,
    );
    return rows.length > 0;
  }

  get selectIds(): string {
    const id = this.#idColumn.text(`theirs.${this.#id}`);
    return `SELECT ${id} FROM ${this.#table} AS theirs
      WHERE ${this.#hasToken} AND ${id} IS NOT NULL ORDER BY ${bytes(id)}`;
  }

  async write(
    connection: Queryable,
    tokens: readonly StoredToken[],
    rewrite: boolean,
  ): Promise<readonly string[]> {
    if (this.#options.rows === "own") await this.#upsert(connection, tokens, rewrite);
    else await this.#update(connection, tokens, rewrite);
    return idsOf(tokens);
  }

  /** MySQL has no statement that writes if the lease is held and also tells what it wrote. */
  writeIf(): undefined {
    return undefined;
  }

  async check(connection: Queryable, tokens: readonly StoredToken[]): Promise<readonly TokenCheck[]> {
    const wanted = new Map(tokens.map((entry) => [entry.user_group_id, entry.token.reveal()]));
    const isThere = new Map<string, boolean>();
    for (const { id, token } of await this.#read(connection, idsOf(tokens))) {
      isThere.set(id, (isThere.get(id) ?? true) && token === wanted.get(id));
    }
    return idsOf(tokens).map((id) => ({ id, isThere: isThere.get(id) ?? null }));
  }

  async find(connection: Queryable, ids: readonly string[]): Promise<readonly TokenRow[]> {
    const rows = await this.#read(connection, ids);
    return this.#options.rows === "own" ? rows : rows.filter(({ token }) => token);
  }

  async remove(connection: Queryable, ids: readonly string[]): Promise<readonly string[]> {
    if (this.#options.rows === "own") {
      // The null keeps the list from being empty: an empty list is a query, for which the server would lock every row.
      await connection.query(`DELETE FROM ${this.#table} WHERE ${this.#id} IN ($1)`, [[...ids, null]]);
    } else {
      await connection.query(
        `UPDATE ${this.#join(IDS)} SET theirs.${this.#token} = NULL WHERE ${this.#hasToken}`,
        [this.#idRows(ids)],
      );
    }
    const kept = new Set((await this.find(connection, ids)).map(({ id }) => id));
    return ids.filter((id) => !kept.has(id));
  }

  /** Runs all statements for no rows: the server checks the rights all the same. */
  async #rehearse(database: Connections): Promise<void> {
    await this.write(database, [], true);
    await this.remove(database, []);
  }

  /** The rows of these groups, as they are. */
  async #read(connection: Queryable, ids: readonly string[]): Promise<readonly TokenRow[]> {
    return connection.query<TokenRow>(
      `SELECT t.id, CONVERT(theirs.${this.#token} USING utf8mb4) AS token FROM ${this.#join(IDS)}`,
      [this.#idRows(ids)],
    );
  }

  async #upsert(connection: Queryable, tokens: readonly StoredToken[], rewrite: boolean): Promise<void> {
    await connection.query(this.#insert, [tokenRows(tokens)]);
    if (!rewrite) return;
    // MySQL doesn't write an unchanged row. Change the row, and change it back.
    for (const days of [1, -1]) {
      await connection.query(
        `UPDATE ${this.#join(IDS)} SET theirs.updated_at = theirs.updated_at + INTERVAL ${days} DAY`,
        [this.#idRows(idsOf(tokens))],
      );
    }
  }

  /**
   * With `rewrite`, MySQL doesn't write an unchanged row, but it asks for the same rights, locks and triggers. The
   * customer's other columns are not ours to change. Read first and update only found rows: an id with letters that the
   * column's character set lacks makes an update fail, but not a query.
   */
  async #update(connection: Queryable, tokens: readonly StoredToken[], rewrite: boolean): Promise<void> {
    const checks = await this.check(connection, tokens);
    const due = new Set(
      checks.filter(({ isThere }) => isThere === false || (rewrite && isThere)).map(({ id }) => id),
    );
    await connection.query(`UPDATE ${this.#join(TOKENS)} SET theirs.${this.#token} = t.token`, [
      tokenRows(tokens.filter((entry) => due.has(entry.user_group_id))),
    ]);
  }

  /** Leaves a row with another id alone: the conflict may come from another unique key than the id's. */
  get #insert(): string {
    const was = (column: string) => `${this.#table}.${column}`;
    const is = (column: string) => `VALUES(${column})`;
    const isSameId = `${bytes(was(this.#id))} = ${bytes(is(this.#id))}`;
    const isNew = `${isSameId} AND ${differ(was(this.#token), is(this.#token))}`;
    const set = (column: string, condition: string): string =>
      `${was(column)} = CASE WHEN ${condition} THEN ${is(column)} ELSE ${was(column)} END`;
    // The order matters: an assignment sees the new values of the assignments before it.
    return `INSERT INTO ${this.#table} (${this.#id}, ${this.#token}, updated_at)
      SELECT t.id, t.token, UTC_TIMESTAMP(6) FROM ${TOKENS}
      ON DUPLICATE KEY UPDATE ${set("updated_at", isNew)}, ${set(this.#token, isSameId)}`;
  }

  #join(rows: string): string {
    return `${rows} STRAIGHT_JOIN ${this.#table} AS theirs ON ${this.#idColumn.matches(`theirs.${this.#id}`)}`;
  }

  #idRows(ids: readonly string[]): string {
    return JSON.stringify(ids.filter(this.#idColumn.takes).map((id) => ({ id })));
  }

  get #hasToken(): string {
    return `LENGTH(theirs.${this.#token}) > 0`;
  }
}

const idsOf = (tokens: readonly StoredToken[]): string[] => tokens.map((entry) => entry.user_group_id);

const tokenRows = (tokens: readonly StoredToken[]): string =>
  JSON.stringify(
    tokens.map(({ user_group_id, token }) => ({ id: user_group_id, token: wellFormed(token.reveal()) })),
  );

/** Replaces lone surrogates: JSON can contain them, but MySQL can't read them. */
const wellFormed = (text: string): string => Buffer.from(text).toString();
