import { describe, SyncError } from "../../../core/failure/sync-error.ts";
import { type FoundTokenTable, isSameMark, type OwnersMark } from "../../../core/tokens/destination.ts";
import type { TokenDestination } from "../../../ports/token-store.ts";
import type { Queryable } from "../connection/connections.ts";
import { databaseError } from "../connection/failures.ts";
import { quotePlace, type TablePlace } from "../connection/table-place.ts";
import type { Database } from "../dialect/database.ts";
import { insistOnOwner } from "../dialect/table-owner.ts";
import type { TokenTableOptions } from "../dialect/token-statements.ts";

/** The table, beside the token tables of a schema, that says whose the token tables are. */
const OWNERS_TABLE = "groupsync_token_owners";

/** In place of a column's name: the whole table belongs to one config. */
const ALL_COLUMNS = "*";

/** A token table, and the name that the database has for its token column. */
export interface MarkedTable extends TablePlace {
  readonly column: string;
}

/** The owner's mark of a token table, or of a column of a customer's table, is a row in a small table beside it. */
export class TokenTableOwner implements TokenDestination {
  readonly title: string;
  readonly holdsAny: TokenDestination["holdsAny"];
  readonly ids: TokenDestination["ids"];
  readonly #database: Database;
  readonly #options: TokenTableOptions;
  /** Undefined if nobody can say where the table would be created. */
  readonly #place: () => Promise<MarkedTable | undefined>;

  constructor(
    database: Database,
    options: TokenTableOptions,
    place: () => Promise<MarkedTable | undefined>,
    { holdsAny, ids }: Pick<TokenDestination, "holdsAny" | "ids">,
  ) {
    const { rows, table, tokenColumn } = options;
    this.#database = database;
    this.#options = options;
    this.#place = place;
    this.holdsAny = holdsAny;
    this.ids = ids;
    this.title = rows === "own" ? `the table ${table}` : `column ${tokenColumn} of the table ${table}`;
  }

  async owner(): Promise<OwnersMark | null> {
    return this.#orUnmarked(async () => {
      const place = await this.#placeWithMarks();
      const [row] = place ? await this.#rows(this.#database, place) : [];
      return row?.mark ?? null;
    });
  }

  async claim(mark: OwnersMark, former: OwnersMark | null): Promise<boolean> {
    return this.#orUnmarked(async () => {
      const { dialect } = this.#database;
      const place = await this.#place();
      if (!place) return false;
      const quoted = this.#owners(place);
      if (!(await dialect.tableExists(this.#database, quoted)))
        await dialect.createTable(this.#database, this.#create(quoted));
      await this.#insistOnOwner(place);
      return this.#database.transaction(dialect.begin.write, (connection) =>
        this.#replace(connection, place, mark, former),
      );
    });
  }

  async giveUp(mark: OwnersMark): Promise<void> {
    await this.#orUnmarked(async () => {
      const place = await this.#placeWithMarks();
      if (!place) return;
      await this.#database.transaction(this.#database.dialect.begin.write, async (connection) => {
        const found = await this.#rows(connection, place, "FOR UPDATE");
        await this.#remove(
          connection,
          place,
          found.filter((row) => isSameMark(row.mark, mark)),
        );
      });
    });
  }

  /** Looks again for a table that was not there: it may have been created since. */
  async table(): Promise<FoundTokenTable | null> {
    const { dialect, byRolesPath } = this.#database;
    const { written, table, owner: named } = this.#options;
    try {
      const before = await this.#place();
      const now = before?.owner === null ? await dialect.tablePlace(byRolesPath, before) : before;
      if (!now) return null;
      const { schema, owner, isOurs } = now;
      const isOwnerNamed = isOurs || (owner !== null && owner === named);
      return { written: written ?? table, schema, table: now.table, owner, isOwnerNamed };
    } catch (error) {
      throw databaseError(dialect, "TOKEN_STORE_UNAVAILABLE", `cannot find ${this.title}`, error);
    }
  }

  async release(): Promise<string> {
    const place = await this.#orUnmarked(this.#place);
    if (!place) return "";
    const { literal } = this.#database.dialect;
    const where = [`table_name = ${literal(place.table)}`];
    if (this.#options.rows === "existing")
      where.push(`token_column IN (${[place.column, ALL_COLUMNS].map(literal).join(", ")})`);
    return `DELETE FROM ${this.#owners(place)} WHERE ${where.join(" AND ")}`;
  }

  /** The table, if there is a table of marks beside it. */
  async #placeWithMarks(): Promise<MarkedTable | undefined> {
    const place = await this.#place();
    if (!place || !(await this.#database.dialect.tableExists(this.#database, this.#owners(place))))
      return undefined;
    await this.#insistOnOwner(place);
    return place;
  }

  async #replace(
    connection: Queryable,
    place: MarkedTable,
    mark: OwnersMark,
    former: OwnersMark | null,
  ): Promise<boolean> {
    const { upsert } = this.#database.dialect;
    const quoted = this.#owners(place);
    const found = await this.#rows(connection, place, "FOR UPDATE");
    if (found.some((row) => !isSameMark(row.mark, former))) return false;
    await this.#remove(connection, place, found);
    const columns = ["table_name", "token_column", "name", "base_url", "team_id", "ledger_id"];
    const { name, baseUrl, teamId, ledgerId } = mark;
    await connection.query(
      upsert({ into: quoted, columns, from: "VALUES ($1, $2, $3, $4, $5, $6)", key: columns.slice(0, 2) }),
      [place.table, this.#column(place), name, baseUrl, teamId, ledgerId],
    );
    // If another program was quicker, its row is there.
    const [row] = await this.#rows(connection, place, "FOR UPDATE");
    return row !== undefined && isSameMark(row.mark, mark);
  }

  async #remove(
    connection: Queryable,
    place: MarkedTable,
    rows: readonly { readonly column: string }[],
  ): Promise<void> {
    for (const { column } of rows)
      await connection.query(
        `DELETE FROM ${this.#owners(place)} WHERE table_name = $1 AND token_column = $2`,
        [place.table, column],
      );
  }

  /** The marks that concern this destination, its own first. A whole table and its columns concern each other. */
  async #rows(
    connection: Queryable,
    place: MarkedTable,
    locking = "",
  ): Promise<readonly { readonly column: string; readonly mark: OwnersMark }[]> {
    const quoted = this.#owners(place);
    const rows = await connection.query<OwnerColumns>(
      `SELECT token_column AS "column", name, base_url AS "baseUrl", team_id AS "teamId", ledger_id AS "ledgerId"
       FROM ${quoted} WHERE table_name = $1 ${locking}`,
      [place.table],
    );
    const own = this.#column(place);
    return rows
      .filter(({ column }) => own === ALL_COLUMNS || column === own || column === ALL_COLUMNS)
      .sort((a, b) => Number(b.column === own) - Number(a.column === own))
      .map(({ column, teamId, ...mark }) => ({
        column,
        mark: { ...mark, teamId: teamId === null ? null : Number(teamId) },
      }));
  }

  #column(place: MarkedTable): string {
    return this.#options.rows === "own" ? ALL_COLUMNS : place.column;
  }

  /** The table of marks, quoted. */
  #owners({ schema }: MarkedTable): string {
    return quotePlace(this.#database.dialect, { schema, table: OWNERS_TABLE });
  }

  /** The owner of the token table may own the table of marks too. */
  #insistOnOwner({ schema, owner }: MarkedTable): Promise<void> {
    const trusted = [this.#options.owner, owner].filter((role) => role != null);
    return insistOnOwner(this.#database, { schema, tables: [OWNERS_TABLE], trusted });
  }

  #create(table: string): string {
    const { name, text, end } = this.#database.dialect.ownerTypes;
    return `CREATE TABLE IF NOT EXISTS ${table} (table_name ${name} NOT NULL, token_column ${name} NOT NULL, name ${text} NOT NULL, base_url ${text} NOT NULL, team_id bigint, ledger_id ${text} NOT NULL, PRIMARY KEY (table_name, token_column))${end}`;
  }

  async #orUnmarked<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const { dialect } = this.#database;
      if (dialect.isDenied(error)) throw await this.#unmarked(error);
      throw databaseError(dialect, "TOKEN_STORE_UNAVAILABLE", `cannot see whose ${this.title} is`, error);
    }
  }

  async #unmarked(error: unknown): Promise<SyncError> {
    const place = await this.#place().catch(() => undefined);
    const shown = place ? this.#owners(place) : OWNERS_TABLE;
    const { grantee, quoteName } = this.#database.dialect;
    const user = await grantee(this.#database);
    // The table of marks must have the same owner as the token table. MySQL's tables have no owners.
    const give = place?.owner == null ? "" : `ALTER TABLE ${shown} OWNER TO ${quoteName(place.owner)}; `;
    return new SyncError(
      "TOKENS_UNMARKED",
      `${this.title} can't be marked as this config's, so no other config is kept from writing there: ${describe(error)}`,
      {
        hint: `run as a user who may: ${this.#create(shown)}; ${give}GRANT SELECT, INSERT, UPDATE, DELETE ON ${shown} TO ${user}`,
        cause: error,
      },
    );
  }
}

interface OwnerColumns extends Omit<OwnersMark, "teamId"> {
  readonly column: string;
  readonly teamId: string | null;
}
