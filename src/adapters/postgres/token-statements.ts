import { escapeLiteral } from "pg";
import type { StoredToken } from "../../ports/token-store.ts";
import type { Connections, Queryable } from "../sql/connections.ts";
import { quotedTable } from "../sql/table-place.ts";
import type {
  OneStatement,
  PlacedTokenTable,
  TokenCheck,
  TokenRow,
  TokenStatements,
} from "../sql/token-statements.ts";
import { RAISED } from "./durability.ts";
import { quoteName, quoteTable } from "./names.ts";
import { logsParameters } from "./server-log.ts";
import { tableExists } from "./table-exists.ts";
import { inspectTokenTable, prepareTokenTable } from "./token-table-preparation.ts";

const IDS = "unnest($1::text[]) AS t (id)";
const TOKENS = "unnest($1::text[], $2::text[]) AS t (id, token)";

const columnsOf = (tokens: readonly StoredToken[]): string[][] => [
  tokens.map((entry) => entry.user_group_id),
  tokens.map((entry) => entry.token.reveal()),
];

export class PostgresTokenStatements implements TokenStatements {
  readonly #options: PlacedTokenTable;
  readonly #table: string;
  readonly #id: string;
  readonly #token: string;
  /** Of the id column, so that its index serves the look-up. */
  #idType = "text";
  /** Whether a token may stand in a statement of its own, which no other can prepare the server's log for. */
  #mayStandAlone = false;

  constructor(options: PlacedTokenTable) {
    this.#options = options;
    this.#table = quotedTable({ quoteName, quoteTable }, options);
    this.#id = quoteName(options.idColumn);
    this.#token = quoteName(options.tokenColumn);
  }

  get allowNull(): string {
    return `ALTER TABLE ${this.#table} ALTER COLUMN ${this.#token} DROP NOT NULL`;
  }

  async prepare(database: Connections): Promise<void> {
    this.#idType = await prepareTokenTable(database, this.#options);
    this.#mayStandAlone = !(await logsParameters(database));
  }

  inspect(database: Connections): Promise<void> {
    return inspectTokenTable(database, this.#options);
  }

  async holdsAny(database: Connections): Promise<boolean> {
    if (!(await tableExists(database, this.#table))) return false;
    const [row] = await database.query<{ any: boolean }>(
      `SELECT EXISTS (SELECT 1 FROM ${this.#table} AS theirs WHERE ${this.#hasToken}) AS any`,
    );
    return row?.any ?? false;
  }

  get selectIds(): string {
    const id = `theirs.${this.#id}::text`;
    return `SELECT ${id} FROM ${this.#table} AS theirs
      WHERE ${this.#hasToken} AND ${id} IS NOT NULL ORDER BY ${id} COLLATE "C"`;
  }

  async write(
    connection: Queryable,
    tokens: readonly StoredToken[],
    rewrite: boolean,
  ): Promise<readonly TokenRow[]> {
    const changed = await connection.query<TokenRow>(`WITH ${this.#written()}`, columnsOf(tokens));
    return rewrite ? connection.query<TokenRow>(this.#rewrite, columnsOf(tokens)) : changed;
  }

  writeIf(query: string, token: StoredToken): OneStatement | undefined {
    if (!this.#mayStandAlone) return undefined;
    return {
      text: `WITH allowed AS (${query}), ${this.#written(`${TOKENS} CROSS JOIN allowed`, `, ${RAISED}`)}`,
      values: columnsOf([token]),
    };
  }

  check(connection: Queryable, tokens: readonly StoredToken[]): Promise<readonly TokenCheck[]> {
    return connection.query<TokenCheck>(
      `SELECT t.id, there."isThere" FROM ${TOKENS} CROSS JOIN LATERAL (
         SELECT bool_and(theirs.${this.#token} IS NOT DISTINCT FROM t.token) AS "isThere"
         FROM ${this.#table} AS theirs WHERE ${this.#matches}) AS there`,
      columnsOf(tokens),
    );
  }

  find(connection: Queryable, ids: readonly string[], byText: boolean): Promise<readonly TokenRow[]> {
    const found = `SELECT t.id, theirs.${this.#token}::text AS token
      FROM ${IDS} JOIN ${this.#table} AS theirs ON ${byText ? this.#matchesText : this.#matches}`;
    const text = this.#options.rows === "own" ? found : `${found} WHERE ${this.#hasToken}`;
    return connection.query<TokenRow>(text, [ids]);
  }

  async remove(connection: Queryable, ids: readonly string[]): Promise<readonly string[]> {
    const rows = await connection.query<{ id: string }>(
      this.#options.rows === "own"
        ? `DELETE FROM ${this.#table} AS theirs USING ${IDS} WHERE ${this.#matches} RETURNING t.id`
        : `UPDATE ${this.#table} AS theirs SET ${this.#token} = NULL FROM ${IDS}
           WHERE ${this.#matches} AND ${this.#hasToken} RETURNING t.id`,
      [ids],
    );
    return rows.map(({ id }) => id);
  }

  /** Writes the tokens that are new, tells those who listen, and selects the rows as they are then. */
  #written(tokens = TOKENS, also = ""): string {
    const token = this.#token;
    const { rows, notify } = this.#options;
    const changed =
      rows === "own"
        ? `${this.#insert(tokens)} DO UPDATE SET ${token} = excluded.${token}, updated_at = excluded.updated_at
           WHERE own.${token} IS DISTINCT FROM excluded.${token} ${this.#returning}`
        : `${this.#update(tokens)} AND theirs.${token} IS DISTINCT FROM t.token ${this.#returning}`;
    const told = notify === undefined ? "" : `, pg_notify(${escapeLiteral(notify)}, id)`;
    return `written AS (${changed}) SELECT id, token${told}${also} FROM written`;
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

  get #hasToken(): string {
    return `theirs.${this.#token} <> ''`;
  }

  /** Compared as the column's type for its index, and as text for its bytes: citext takes 'a' for 'A'. */
  get #matches(): string {
    return `theirs.${this.#id} = t.id::${this.#idType} AND ${this.#matchesText}`;
  }

  get #matchesText(): string {
    return `theirs.${this.#id}::text = t.id`;
  }
}
