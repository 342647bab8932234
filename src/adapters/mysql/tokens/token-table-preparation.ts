import { SyncError } from "../../../core/failure/sync-error.ts";
import type { Connections } from "../../sql/connection/connections.ts";
import { quotedTable } from "../../sql/connection/table-place.ts";
import type { PlacedTokenTable } from "../../sql/dialect/token-statements.ts";
import { isColumnMistake, isDenied } from "../connection/failures.ts";
import { identifiers } from "../connection/identifiers.ts";
import { currentAccount, rehearse } from "../connection/rights.ts";
import { tableExists } from "../connection/table-place.ts";
import { type ColumnInfo, type IdColumn, idColumnOf, TEXT_TYPES } from "./token-ids.ts";

/**
 * Creates the table if it is missing and groupsync's own, and checks everything that writes will need: better no token
 * than one that can't be stored. Resolves to how ids are found. `rehearseWrites` runs all statements on the table for no
 * rows.
 */
export async function prepareTokenTable(
  database: Connections,
  options: PlacedTokenTable,
  rehearseWrites: () => Promise<void>,
): Promise<IdColumn> {
  if (options.rows === "own") {
    await explainingRights(database, options, ["CREATE"], async () => {
      if (await isMissing(database, options)) await database.query(await creation(database, options));
    });
  }
  return insistOnTable(database, options, rehearseWrites);
}

/** Rejects if `prepareTokenTable` would, and changes nothing. Undefined if there is no table yet. */
export async function inspectTokenTable(
  database: Connections,
  options: PlacedTokenTable,
  rehearseWrites: () => Promise<void>,
): Promise<IdColumn | undefined> {
  let isThere = true;
  if (options.rows === "own") {
    await explainingRights(database, options, ["CREATE"], async () => {
      isThere = !(await isMissing(database, options));
      if (!isThere) await rehearse(database, await creation(database, options));
    });
  }
  return isThere ? insistOnTable(database, options, rehearseWrites) : undefined;
}

const isMissing = async (database: Connections, options: PlacedTokenTable): Promise<boolean> =>
  !(await tableExists(database, quotedTable(identifiers, options)));

async function insistOnTable(
  database: Connections,
  options: PlacedTokenTable,
  rehearseWrites: () => Promise<void>,
): Promise<IdColumn> {
  await explainingRights(database, options, [], async () => {
    try {
      await rehearseWrites();
    } catch (error) {
      // Go on: the check below names the column. A column that this user has no right to can't be seen.
      if (!isColumnMistake(error)) throw error;
    }
  });
  const id = await checkColumns(database, options);
  await checkEngine(database, options);
  if (options.rows === "own") {
    await checkBytes(database, options, id);
    await checkUniqueness(database, options);
  }
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

/** Resolves to the id's column. Rejects with CONFIG_COLUMNS if a column is missing or can't be written. */
async function checkColumns(database: Connections, options: PlacedTokenTable): Promise<ColumnInfo> {
  const { table, rows, idColumn, tokenColumn } = options;
  const columns = await database.query<ColumnInfo>(
    `SELECT COLUMN_NAME AS name, DATA_TYPE AS type, COLUMN_TYPE AS fullType, CHARACTER_SET_NAME AS charset,
       COLLATION_NAME AS collation, GENERATION_EXPRESSION AS computed
     FROM information_schema.COLUMNS WHERE ${OF_TABLE} ORDER BY ORDINAL_POSITION`,
    placeOf(options),
  );
  // The server ignores case in names of columns.
  const find = (wanted: string) => columns.find(({ name }) => name.toLowerCase() === wanted.toLowerCase());
  const wanted = rows === "own" ? [idColumn, tokenColumn, "updated_at"] : [idColumn, tokenColumn];
  const [id, token, updatedAt] = wanted.map(find);
  const missing = wanted.filter((name) => !find(name));
  if (!id || !token || missing.length > 0) {
    throw new SyncError("CONFIG_COLUMNS", `tokens.table: ${table} has no column ${missing.join(", ")}`, {
      hint: `its columns are: ${columns.map(({ name }) => name).join(", ")}`,
    });
  }
  if (updatedAt?.computed) {
    throw new SyncError(
      "CONFIG_COLUMNS",
      `tokens.table: ${table} computes column ${updatedAt.name} by itself`,
      {
        hint: "it is written with each token; make it a DATETIME(6) column",
      },
    );
  }
  const isFit = (column: ColumnInfo): boolean =>
    !column.computed && (TEXT_TYPES.has(column.type) || (column === id && column.type === "varbinary"));
  const unfit = (rows === "own" ? [id, token] : [token]).find((column) => !isFit(column));
  if (unfit) {
    throw new SyncError("CONFIG_COLUMNS", `tokens.table: ${table} can't take text in column ${unfit.name}`, {
      hint: `it is ${unfit.fullType}, or generated; make it a text column of its own`,
    });
  }
  return id;
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

/** Rejects if no unique key is on the id alone: an insert must meet the existing row. */
async function checkUniqueness(database: Connections, options: PlacedTokenTable): Promise<void> {
  const { table, idColumn } = options;
  const keys = await database.query(
    `SELECT INDEX_NAME FROM information_schema.STATISTICS WHERE ${OF_TABLE} AND NON_UNIQUE = 0
     GROUP BY INDEX_NAME
     HAVING COUNT(*) = 1 AND MAX(LOWER(COLUMN_NAME)) = LOWER($3) AND MAX(SUB_PART) IS NULL`,
    [...placeOf(options), idColumn],
  );
  if (keys.length > 0) return;
  throw new SyncError("CONFIG_COLUMNS", `tokens.table: ${table} may have several rows for one ${idColumn}`, {
    hint: `ALTER TABLE ${quotedTable(identifiers, options)} ADD PRIMARY KEY (${identifiers.quoteName(idColumn)})`,
  });
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
    const { name: user, quoted: account } = await currentAccount(database);
    const { table, rows, tokenColumn } = options;
    const rights =
      rows === "own"
        ? ["SELECT", "INSERT", "UPDATE", "DELETE"]
        : ["SELECT", `UPDATE (${identifiers.quoteName(tokenColumn)})`];
    throw new SyncError("TOKEN_STORE_UNAVAILABLE", `user ${user} may not write tokens to ${table}`, {
      hint: `GRANT ${[...more, ...rights].join(", ")} ON ${quotedTable(identifiers, options)} TO ${account}`,
      cause: error,
    });
  }
}
