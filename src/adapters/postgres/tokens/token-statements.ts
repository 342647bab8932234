import { escapeLiteral } from "pg";
import type { StoredToken } from "../../../ports/token-store.ts";
import type { Connections, Queryable } from "../../sql/connection/connections.ts";
import { quotedTable } from "../../sql/connection/table-place.ts";
import type {
  OneStatement,
  PlacedTokenTable,
  TokenCheck,
  TokenRow,
  TokenStatements,
} from "../../sql/dialect/token-statements.ts";
import { RAISED } from "../connection/durability.ts";
import type { Equality } from "../connection/id-types.ts";
import { quoteName, quoteTable } from "../connection/identifiers.ts";
import { logsParameters } from "../connection/settings.ts";
import { tableExists } from "../connection/table-place.ts";
import { prepareTokenTable } from "./token-table-preparation.ts";

const IDS = "pg_catalog.unnest($1::pg_catalog.text[]) AS t (id)";
const TOKENS = `ROWS FROM (pg_catalog.unnest($1::pg_catalog.text[]), pg_catalog.unnest($2::pg_catalog.text[]))
  AS t (id, token)`;

const columnsOf = (tokens: readonly StoredToken[]): string[][] => [
  tokens.map((entry) => entry.user_group_id),
  tokens.map((entry) => entry.token.reveal()),
];

export class PostgresTokenStatements implements TokenStatements {
  readonly #options: PlacedTokenTable;
  readonly #table: string;
  readonly #id: string;
  readonly #token: string;
  /** How the id column is compared, to use its index; undefined if its type has no order. */
  #idEquality: Equality | undefined;
  /**
   * Whether a token may stand in a statement outside of a transaction: there, UNLOGGED can't keep it out of the
   * server's log.
   */
  #mayStandAlone = false;

  constructor(options: PlacedTokenTable) {
    this.#options = options;
    this.#table = quotedTable({ quoteName, quoteTable }, options);
    this.#id = quoteName(options.idColumn);
    this.#token = quoteName(options.tokenColumn);
  }

  async prepare(database: Connections): Promise<void> {
    this.#idEquality = await prepareTokenTable(database, this.#options, true);
    this.#mayStandAlone = !(await logsParameters(database));
  }

  async inspect(database: Connections): Promise<void> {
    this.#idEquality = await prepareTokenTable(database, this.#options, false);
  }

  async holdsAny(database: Connections): Promise<boolean> {
    if (!(await tableExists(database, this.#table))) return false;
    const [row] = await database.byRolesPath.query<{ any: boolean }>(
      `SELECT EXISTS (SELECT 1 FROM ${this.#table} AS theirs WHERE ${this.#hasToken}) AS any`,
    );
    return row?.any ?? false;
  }

  get selectIds(): string {
    const id = text(`theirs.${this.#id}`);
    return `SELECT ${id} FROM ${this.#table} AS theirs
      WHERE ${this.#hasToken} AND ${id} IS NOT NULL ORDER BY ${id} COLLATE pg_catalog."C"`;
  }

  async write(
    connection: Queryable,
    tokens: readonly StoredToken[],
    rewrite: boolean,
  ): Promise<readonly string[]> {
    const changed = await connection.query<{ id: string }>(`WITH ${this.#written()}`, columnsOf(tokens));
    const rows = rewrite ? await connection.query<{ id: string }>(this.#rewrite, columnsOf(tokens)) : changed;
    return rows.map(({ id }) => id);
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
         SELECT pg_catalog.bool_and(NOT ${this.#differs("theirs", "t.token")}) AS "isThere"
         FROM ${this.#table} AS theirs WHERE ${this.#matches}) AS there`,
      columnsOf(tokens),
    );
  }

  find(connection: Queryable, ids: readonly string[]): Promise<readonly TokenRow[]> {
    const found = `SELECT t.id, ${text(`theirs.${this.#token}`)} AS token
      FROM ${IDS} JOIN ${this.#table} AS theirs ON ${this.#matches}`;
    const wanted = this.#options.rows === "own" ? found : `${found} WHERE ${this.#hasToken}`;
    return connection.query<TokenRow>(wanted, [ids]);
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

  /** Writes the tokens that are new, notifies the channel, and selects the ids of the rows. */
  #written(tokens = TOKENS, also = ""): string {
    const token = this.#token;
    const { rows, notify } = this.#options;
    const changed =
      rows === "own"
        ? `${this.#insert(tokens)} DO UPDATE SET ${token} = excluded.${token}, updated_at = excluded.updated_at
           WHERE ${this.#differs("own", text(`excluded.${token}`))} ${this.#returning}`
        : `${this.#update(tokens)} AND ${this.#differs("theirs", "t.token")} ${this.#returning}`;
    const told = notify === undefined ? "" : `, pg_catalog.pg_notify(${escapeLiteral(notify)}, id)`;
    return `written AS (${changed}) SELECT id${told}${also} FROM written`;
  }

  /** Writes tokens that are already there, as `#written` writes new tokens, and returns the ids of their rows. */
  get #rewrite(): string {
    return this.#options.rows === "own"
      ? `${this.#insert()} DO UPDATE SET ${this.#token} = excluded.${this.#token} ${this.#returning}`
      : `${this.#update()} ${this.#returning}`;
  }

  get #returning(): string {
    return `RETURNING ${this.#options.rows === "own" ? `${text(`own.${this.#id}`)} AS id` : "t.id"}`;
  }

  /** Ends in ON CONFLICT; the caller adds the action. */
  #insert(tokens = TOKENS): string {
    return `INSERT INTO ${this.#table} AS own (${this.#id}, ${this.#token}, updated_at)
      SELECT t.id, t.token, pg_catalog.now() FROM ${tokens} ON CONFLICT (${this.#id})`;
  }

  #update(tokens = TOKENS): string {
    return `UPDATE ${this.#table} AS theirs SET ${this.#token} = t.token FROM ${tokens} WHERE ${this.#matches}`;
  }

  get #hasToken(): string {
    return `${text(`theirs.${this.#token}`)} OPERATOR(pg_catalog.<>) ''`;
  }

  /** A condition: the row has another token than this one, or none. */
  #differs(row: "own" | "theirs", token: string): string {
    return `(${text(`${row}.${this.#token}`)} OPERATOR(pg_catalog.=) ${token}) IS NOT TRUE`;
  }

  /** Compares as the column's type, to use its index, and as text by bytes, because citext takes 'a' for 'A'. */
  get #matches(): string {
    const { type, operator } = this.#idEquality ?? {};
    if (type === undefined) return this.#matchesText;
    return `theirs.${this.#id}::${type} ${operator} t.id::${type} AND ${this.#matchesText}`;
  }

  get #matchesText(): string {
    return `${text(`theirs.${this.#id}`)} OPERATOR(pg_catalog.=) t.id`;
  }
}

const text = (value: string): string => `${value}::pg_catalog.text`;
