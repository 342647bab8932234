import { SyncError } from "../../../core/failure/sync-error.ts";
import type { Connections } from "../../sql/connection/connections.ts";
import { quotedTable } from "../../sql/connection/table-place.ts";
import type { PlacedTokenTable } from "../../sql/dialect/token-statements.ts";
import { insistOnColumns, mayNotWrite, type TokenColumn } from "../../sql/tokens/token-columns.ts";
import { isColumnMistake, isDenied } from "../connection/failures.ts";
import { identifiers } from "../connection/identifiers.ts";
import { currentAccount, rehearse } from "../connection/rights.ts";
import { tableExists } from "../connection/table-place.ts";
import { type ColumnInfo, type IdColumn, idColumnOf, TEXT_TYPES } from "./token-ids.ts";

/**
 * Creates the table if it is missing and groupsync's own, and checks everything that writes will need: better no token
 * than one that can't be stored. Resolves to how ids are found. Unless it `mayCreate`, changes nothing, and resolves to
 * undefined if there is no table yet. `rehearseWrites` runs all statements on the table for no rows.
 */
export async function prepareTokenTable(
  database: Connections,
  options: PlacedTokenTable,
  mayCreate: boolean,
  rehearseWrites: () => Promise<void>,
): Promise<IdColumn | undefined> {
  let isThere = true;
  if (options.rows === "own") {
    await explainingRights(database, options, ["CREATE"], async () => {
      isThere = await tableExists(database, quotedTable(identifiers, options));
      if (isThere) return;
      const statement = await creation(database, options);
      await (mayCreate ? database.query(statement) : rehearse(database, statement));
    });
  }
  return isThere || mayCreate ? insistOnTable(database, options, rehearseWrites) : undefined;
}

async function insistOnTable(
  database: Connections,
  options: PlacedTokenTable,
  rehearseWrites: () => Promise<void>,
): Promise<IdColumn> {
  let mistake: unknown;
  await explainingRights(database, options, [], async () => {
    try {
      await rehearseWrites();
    } catch (error) {
      // Go on: the check below names the column. A column that this user has no right to can't be seen.
      if (!isColumnMistake(error)) throw error;
      mistake = error;
    }
  });
  const columns = await columnsOf(database, options);
  insistOnColumns(identifiers, columns, options);
  insistOnWritableTime(columns, options);
  if (mistake !== undefined) throw mistake;
  await checkEngine(database, options);
  const id = columns.find(({ name }) => name === options.idColumn) as ColumnInfo;
  if (options.rows === "own") await checkBytes(database, options, id);
  return idColumnOf(id);
}

/**
 * The statement that creates the table. If two programs run it at once, they take turns, and the second finds the
 * table.
 */
async function creation(database: Connections, options: PlacedTokenTable): Promise<string> {
  const { idColumn, tokenColumn } = options;
  return `CREATE TABLE IF NOT EXISTS ${quotedTable(identifiers, options)} (
       ${identifiers.quoteName(idColumn)} ${await idType(database)} NOT NULL PRIMARY KEY,
       ${identifiers.quoteName(tokenColumn)} TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
       updated_at DATETIME(6) NOT NULL
     ) ENGINE=InnoDB ROW_FORMAT=DYNAMIC`;
}

/** Collations that tell all texts apart, even by trailing blanks. The first is MySQL's, the second MariaDB's. */
const EXACT = ["utf8mb4_0900_bin", "utf8mb4_nopad_bin"];

/** Text, because applications read, join and compare it; bytes if the server is too old for these collations. */
async function idType(database: Connections): Promise<string> {
  const [exact] = await database.query<{ name: string }>(
    `SELECT COLLATION_NAME AS name FROM information_schema.COLLATIONS WHERE COLLATION_NAME IN ($1)
     ORDER BY name DESC LIMIT 1`,
    [EXACT],
  );
  return exact ? `VARCHAR(512) CHARACTER SET utf8mb4 COLLATE ${exact.name}` : "VARBINARY(512)";
}

/** A condition for information_schema: the row is about the table. */
const OF_TABLE = "TABLE_SCHEMA = $1 AND TABLE_NAME = $2";

const placeOf = ({ place }: PlacedTokenTable): (string | undefined)[] => [place?.schema, place?.table];

async function columnsOf(
  database: Connections,
  options: PlacedTokenTable,
): Promise<readonly (ColumnInfo & TokenColumn)[]> {
  const columns = await database.query<ColumnInfo>(
    `SELECT COLUMN_NAME AS name, DATA_TYPE AS type, COLUMN_TYPE AS fullType, CHARACTER_SET_NAME AS charset,
       COLLATION_NAME AS collation, GENERATION_EXPRESSION AS computed
     FROM information_schema.COLUMNS WHERE ${OF_TABLE} ORDER BY ORDINAL_POSITION`,
    placeOf(options),
  );
  // A key on an expression has no column.
  const keys = await database.query<{ name: string }>(
    `SELECT MAX(COLUMN_NAME) AS name FROM information_schema.STATISTICS WHERE ${OF_TABLE} AND NON_UNIQUE = 0
     GROUP BY INDEX_NAME HAVING COUNT(*) = 1 AND MAX(SUB_PART) IS NULL AND MAX(COLUMN_NAME) IS NOT NULL`,
    placeOf(options),
  );
  const { idColumn, tokenColumn } = options;
  // The server ignores case in names of columns.
  const isSame = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();
  return columns.map((column) => ({
    ...column,
    name: [idColumn, tokenColumn, "updated_at"].find((name) => isSame(name, column.name)) ?? column.name,
    takesText:
      !column.computed &&
      (TEXT_TYPES.has(column.type) || (column.type === "varbinary" && isSame(column.name, idColumn))),
    isKey: keys.some(({ name }) => isSame(name, column.name)),
  }));
}

/** The server refuses to write a computed column only once there is a row, and by then a token was fetched. */
function insistOnWritableTime(columns: readonly ColumnInfo[], { table, rows }: PlacedTokenTable): void {
  if (rows !== "own" || !columns.some(({ name, computed }) => name === "updated_at" && computed)) return;
  throw new SyncError("CONFIG_COLUMNS", `tokens.table: ${table} computes column updated_at by itself`, {
    hint: "it is written with each token; make it a DATETIME(6) column",
  });
}

/** Rejects if the table's engine has no transactions: a refused write could not be undone. A view has no engine. */
async function checkEngine(database: Connections, options: PlacedTokenTable): Promise<void> {
  const [row] = await database.query<{ engine: string }>(
    `SELECT ENGINE AS engine FROM information_schema.TABLES JOIN information_schema.ENGINES USING (ENGINE)
     WHERE ${OF_TABLE} AND TRANSACTIONS <> 'YES'`,
    placeOf(options),
  );
  if (!row) return;
  throw new SyncError(
    "CONFIG_COLUMNS",
    `tokens.table: ${options.table} has no transactions: its engine is ${row.engine}`,
    { hint: `ALTER TABLE ${quotedTable(identifiers, options)} ENGINE = InnoDB` },
  );
}

/** Rejects if the key takes 'a' for 'A' or for 'a ': it has room for only one of these tenants. */
async function checkBytes(
  database: Connections,
  options: PlacedTokenTable,
  { type, fullType, collation }: ColumnInfo,
): Promise<void> {
  if (type === "varbinary" || (type === "varchar" && EXACT.includes(collation ?? ""))) return;
  const { table, idColumn } = options;
  const quoted = identifiers.quoteName(idColumn);
  throw new SyncError(
    "CONFIG_COLUMNS",
    `tokens.table: ${table} takes different ids for one in column ${idColumn}: it is ${fullType} COLLATE ${collation}`,
    {
      hint: `ALTER TABLE ${quotedTable(identifiers, options)} MODIFY ${quoted} ${await idType(database)} NOT NULL`,
    },
  );
}

/**
 * Runs `body`; if the user lacks a right, rejects with TOKEN_STORE_UNAVAILABLE and the GRANT. Only the server knows
 * what a user may do, because rights come from the server, the database, the table, its columns and from roles. `more`
 * are further rights to the table for that GRANT.
 */
async function explainingRights(
  database: Connections,
  options: PlacedTokenTable,
  more: readonly string[],
  body: () => Promise<void>,
): Promise<void> {
  try {
    await body();
  } catch (error) {
    if (!isDenied(error)) throw error;
    throw mayNotWrite(identifiers, options, await currentAccount(database), more, error);
  }
}
