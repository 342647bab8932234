import { describe, SyncError } from "../../../core/failure/sync-error.ts";
import { isSameMark, type OwnersMark } from "../../../core/tokens/destination.ts";
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

/**
 * The owner's mark of a token table, or of a column of a customer's table, is a row in a small table beside it. `placeOf` resolves to
 * undefined if nobody can say where the table would be created.
 */
export function tokenTableOwner(
  database: Database,
  options: TokenTableOptions,
  placeOf: () => Promise<MarkedTable | undefined>,
  { holdsAny, ids }: Pick<TokenDestination, "holdsAny" | "ids">,
): TokenDestination {
  const { rows, table, tokenColumn } = options;
  const title = rows === "own" ? `the table ${table}` : `column ${tokenColumn} of the table ${table}`;

  /** The table, if there is a table of marks beside it. */
  async function placeWithMarks(): Promise<MarkedTable | undefined> {
    const place = await placeOf();
    if (!place || !(await database.dialect.tableExists(database, owners(place)))) return undefined;
    await insistOnMarksOwner(place);
    return place;
  }

  async function replace(
    connection: Queryable,
    place: MarkedTable,
    mark: OwnersMark,
    former: OwnersMark | null,
  ): Promise<boolean> {
    const { upsert } = database.dialect;
    const quoted = owners(place);
    const found = await marksAt(connection, place, "FOR UPDATE");
    if (found.some((row) => !isSameMark(row.mark, former))) return false;
    await remove(connection, place, found);
    const columns = ["table_name", "token_column", "name", "base_url", "team_id", "ledger_id"];
    const { name, baseUrl, teamId, ledgerId } = mark;
    await connection.query(
      upsert({ into: quoted, columns, from: "VALUES ($1, $2, $3, $4, $5, $6)", key: columns.slice(0, 2) }),
      [place.table, columnOf(place), name, baseUrl, teamId, ledgerId],
    );
    // If another program was quicker, its row is there.
    const [row] = await marksAt(connection, place, "FOR UPDATE");
    return row !== undefined && isSameMark(row.mark, mark);
  }

  async function remove(
    connection: Queryable,
    place: MarkedTable,
    rows: readonly { readonly column: string }[],
  ): Promise<void> {
    for (const { column } of rows)
      await connection.query(`DELETE FROM ${owners(place)} WHERE table_name = $1 AND token_column = $2`, [
        place.table,
        column,
      ]);
  }

  /** The marks that concern this destination, its own first. A whole table and its columns concern each other. */
  async function marksAt(
    connection: Queryable,
    place: MarkedTable,
    locking = "",
  ): Promise<readonly { readonly column: string; readonly mark: OwnersMark }[]> {
    const quoted = owners(place);
    const rows = await connection.query<OwnerColumns>(
      `SELECT token_column AS "column", name, base_url AS "baseUrl", team_id AS "teamId", ledger_id AS "ledgerId"
       FROM ${quoted} WHERE table_name = $1 ${locking}`,
      [place.table],
    );
    const own = columnOf(place);
    return rows
      .filter(({ column }) => own === ALL_COLUMNS || column === own || column === ALL_COLUMNS)
      .sort((a, b) => Number(b.column === own) - Number(a.column === own))
      .map(({ column, teamId, ...mark }) => ({
        column,
        mark: { ...mark, teamId: teamId === null ? null : Number(teamId) },
      }));
  }

  const columnOf = (place: MarkedTable): string => (options.rows === "own" ? ALL_COLUMNS : place.column);

  /** The table of marks, quoted. */
  function owners({ schema }: MarkedTable): string {
    return quotePlace(database.dialect, { schema, table: OWNERS_TABLE });
  }

  /** The owner of the token table may own the table of marks too. */
  function insistOnMarksOwner({ schema, owner }: MarkedTable): Promise<void> {
    const trusted = [options.owner, owner].filter((role) => role != null);
    return insistOnOwner(database, { schema, tables: [OWNERS_TABLE], trusted });
  }

  function creation(table: string): string {
    const { name, text, end } = database.dialect.ownerTypes;
    return `CREATE TABLE IF NOT EXISTS ${table} (table_name ${name} NOT NULL, token_column ${name} NOT NULL, name ${text} NOT NULL, base_url ${text} NOT NULL, team_id bigint, ledger_id ${text} NOT NULL, PRIMARY KEY (table_name, token_column))${end}`;
  }

  async function orUnmarked<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const { dialect } = database;
      if (dialect.isDenied(error)) throw await unmarked(error);
      throw databaseError(dialect, "TOKEN_STORE_UNAVAILABLE", `cannot see whose ${title} is`, error);
    }
  }

  async function unmarked(error: unknown): Promise<SyncError> {
    const place = await placeOf().catch(() => undefined);
    const shown = place ? owners(place) : OWNERS_TABLE;
    const { grantee, quoteName } = database.dialect;
    const user = await grantee(database);
    // The table of marks must have the same owner as the token table. MySQL's tables have no owners.
    const give = place?.owner == null ? "" : `ALTER TABLE ${shown} OWNER TO ${quoteName(place.owner)}; `;
    return new SyncError(
      "TOKENS_UNMARKED",
      `${title} can't be marked as this config's, so no other config is kept from writing there: ${describe(error)}`,
      {
        hint: `run as a user who may: ${creation(shown)}; ${give}GRANT SELECT, INSERT, UPDATE, DELETE ON ${shown} TO ${user}`,
        cause: error,
      },
    );
  }

  return {
    title,
    holdsAny,
    ids,
    owner: () =>
      orUnmarked(async () => {
        const place = await placeWithMarks();
        const [row] = place ? await marksAt(database, place) : [];
        return row?.mark ?? null;
      }),
    claim: (mark, former) =>
      orUnmarked(async () => {
        const { dialect } = database;
        const place = await placeOf();
        if (!place) return false;
        const quoted = owners(place);
        if (!(await dialect.tableExists(database, quoted)))
          await dialect.createTable(database, creation(quoted));
        await insistOnMarksOwner(place);
        return database.transaction(dialect.begin.write, (connection) =>
          replace(connection, place, mark, former),
        );
      }),
    async giveUp(mark) {
      await orUnmarked(async () => {
        const place = await placeWithMarks();
        if (!place) return;
        await database.transaction(database.dialect.begin.write, async (connection) => {
          const found = await marksAt(connection, place, "FOR UPDATE");
          await remove(
            connection,
            place,
            found.filter((row) => isSameMark(row.mark, mark)),
          );
        });
      });
    },
    /** Looks again for a table that was not there: it may have been created since. */
    async table() {
      const { dialect, byRolesPath } = database;
      const { written, table, owner: named } = options;
      try {
        const before = await placeOf();
        const now = before?.owner === null ? await dialect.tablePlace(byRolesPath, before) : before;
        if (!now) return null;
        const { schema, owner, isOurs } = now;
        const isOwnerNamed = isOurs || (owner !== null && owner === named);
        return { written: written ?? table, schema, table: now.table, owner, isOwnerNamed };
      } catch (error) {
        throw databaseError(dialect, "TOKEN_STORE_UNAVAILABLE", `cannot find ${title}`, error);
      }
    },
    async release() {
      const place = await orUnmarked(placeOf);
      if (!place) return "";
      const { literal } = database.dialect;
      const where = [`table_name = ${literal(place.table)}`];
      if (options.rows === "existing")
        where.push(`token_column IN (${[place.column, ALL_COLUMNS].map(literal).join(", ")})`);
      return `DELETE FROM ${owners(place)} WHERE ${where.join(" AND ")}`;
    },
  };
}

interface OwnerColumns extends Omit<OwnersMark, "teamId"> {
  readonly column: string;
  readonly teamId: string | null;
}
