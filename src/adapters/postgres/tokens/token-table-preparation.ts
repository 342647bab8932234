import { SyncError } from "../../../core/failure/sync-error.ts";
import type { Connections } from "../../sql/connection/connections.ts";
import { quotedTable } from "../../sql/connection/table-place.ts";
import type { PlacedTokenTable } from "../../sql/dialect/token-statements.ts";
import { insistOnColumns, mayNotWrite, type TokenColumn } from "../../sql/tokens/token-columns.ts";
import { type Equality, equalityOf, ID_TYPES, typeName } from "../connection/id-types.ts";
import { quoteName, quoteTable } from "../connection/identifiers.ts";
import { insistOnSchema } from "../connection/rights.ts";
import { createTable, tableExists } from "../connection/table-place.ts";

/**
 * Creates the table if it is missing and groupsync's own, and checks everything that writes will need: better no token
 * than one that can't be stored. Resolves to how ids are compared. Unless it `mayCreate`, changes nothing, and resolves to
 * undefined if there is no table yet.
 */
export async function prepareTokenTable(
  database: Connections,
  options: PlacedTokenTable,
  mayCreate: boolean,
): Promise<Equality | undefined> {
  if (await isToBeCreated(database, options)) {
    await insistOnPlace(database, options);
    if (!mayCreate) return undefined;
    await create(database, options);
  }
  const columns = await columnsOf(database, options);
  insistOnColumns(NAMES, columns, options);
  if (options.rows === "own") insistOnValues(columns, options);
  insistOnRights(columns, options);
  return idEquality(database, quoted(options), options.idColumn);
}

/** A table that was found has an owner. */
const isToBeCreated = async (database: Connections, options: PlacedTokenTable): Promise<boolean> =>
  options.rows === "own" && options.place?.owner == null && !(await tableExists(database, quoted(options)));

const NAMES = { quoteName, quoteTable };
const quoted = (options: PlacedTokenTable): string => quotedTable(NAMES, options);

function insistOnPlace(database: Connections, { table, place }: PlacedTokenTable): Promise<void> {
  const purpose = { code: "TOKEN_STORE_UNAVAILABLE", what: `tokens.table ${table}` } as const;
  return insistOnSchema(database, place?.schema, purpose, { mayBeCreated: false });
}

/**
 * A statement with this equality can use the column's index, and citext still ignores case. Undefined for a type that no id
 * has: such a column is compared as text.
 */
async function idEquality(
  database: Connections,
  table: string,
  column: string,
): Promise<Equality | undefined> {
  const [type] = await database.query<{ name: string; schema: string }>(
    `SELECT ${typeName("base")} AS name, n.nspname AS schema
     FROM pg_catalog.pg_attribute AS a
     JOIN pg_catalog.pg_type AS own ON own.oid = a.atttypid
     JOIN pg_catalog.pg_type AS base ON base.oid = coalesce(nullif(own.typbasetype, 0), own.oid)
     JOIN pg_catalog.pg_namespace AS n ON n.oid = base.typnamespace
     WHERE a.attrelid = $1::regclass AND a.attname = $2`,
    [table, column],
  );
  return type && ID_TYPES.has(type.name) ? equalityOf(type.name, type.schema) : undefined;
}

function create(database: Connections, options: PlacedTokenTable): Promise<void> {
  const { idColumn, tokenColumn } = options;
  return createTable(
    database,
    `CREATE TABLE IF NOT EXISTS ${quoted(options)} (
       ${quoteName(idColumn)} text COLLATE "C" PRIMARY KEY,
       ${quoteName(tokenColumn)} text NOT NULL,
       updated_at timestamptz NOT NULL)`,
  );
}

interface Column extends TokenColumn {
  /** Whether a row needs a value for this column: it takes no NULL, and nothing fills it. A trigger may fill any column. */
  readonly needsValue: boolean;
  readonly maySelect: boolean;
  readonly mayUpdate: boolean;
  /** Whether this user has every right to the table that groupsync needs for rows of its own. */
  readonly mayWriteRows: boolean;
  readonly user: string;
}

const columnsOf = (database: Connections, options: PlacedTokenTable): Promise<Column[]> =>
  database.query<Column>(
    `SELECT a.attname AS name, format_type(a.atttypid, a.atttypmod) AS "fullType",
       t.typcategory = 'S' AND a.attgenerated = '' AS "takesText",
       (a.attnotnull OR t.typnotnull) AND NOT a.atthasdef AND t.typdefault IS NULL AND a.attidentity = ''
         AND NOT EXISTS (
           -- In tgtype, 7 is FOR EACH ROW, BEFORE and INSERT.
           SELECT 1 FROM pg_catalog.pg_trigger WHERE tgrelid = a.attrelid AND tgtype & 7 = 7) AS "needsValue",
       EXISTS (
         SELECT 1 FROM pg_catalog.pg_index AS i WHERE i.indrelid = a.attrelid AND i.indkey[0] = a.attnum
           AND i.indisunique AND i.indimmediate AND i.indisvalid AND i.indnkeyatts = 1
           AND i.indpred IS NULL) AS "isKey",
       has_column_privilege(a.attrelid, a.attnum, 'SELECT') AS "maySelect",
       has_column_privilege(a.attrelid, a.attnum, 'UPDATE') AS "mayUpdate",
       (SELECT bool_and(has_table_privilege(a.attrelid, right_))
        FROM unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS right_) AS "mayWriteRows",
       current_user::text AS user
     FROM pg_catalog.pg_attribute AS a JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid
     WHERE a.attrelid = $1::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`,
    [quoted(options)],
  );

/** Throws CONFIG_COLUMNS if a new row needs a value in a column that groupsync doesn't write. */
function insistOnValues(columns: readonly Column[], options: PlacedTokenTable): void {
  const { table, idColumn, tokenColumn } = options;
  const unfilled = columns.find(
    ({ name, needsValue }) => needsValue && ![idColumn, tokenColumn, "updated_at"].includes(name),
  );
  if (!unfilled) return;
  const what = `${table} takes no row without a value in column ${unfilled.name}`;
  throw new SyncError("CONFIG_COLUMNS", `tokens.table: ${what}, which groupsync doesn't write`, {
    hint: `give it a default, or ALTER TABLE ${quoted(options)} ALTER COLUMN ${quoteName(unfilled.name)} DROP NOT NULL`,
  });
}

function insistOnRights(columns: readonly Column[], options: PlacedTokenTable): void {
  const id = columns.find(({ name }) => name === options.idColumn);
  const token = columns.find(({ name }) => name === options.tokenColumn);
  const isAllowed =
    options.rows === "own" ? token?.mayWriteRows : id?.maySelect && token?.maySelect && token.mayUpdate;
  const user = token?.user ?? "";
  if (!isAllowed) throw mayNotWrite(NAMES, options, { name: user, quoted: quoteName(user) });
}
