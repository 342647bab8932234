import { SyncError } from "../../../core/failure/sync-error.ts";
import type { Connections } from "../../sql/connection/connections.ts";
import { quotedTable } from "../../sql/connection/table-place.ts";
import type { PlacedTokenTable } from "../../sql/dialect/token-statements.ts";
import { quoteName, quoteTable } from "../connection/identifiers.ts";
import { insistOnSchema } from "../connection/rights.ts";
import { tableExists } from "../connection/table-place.ts";
import { type Equality, idEquality } from "./id-equality.ts";

/**
 * Creates the table if it is missing and groupsync's own, and checks everything that writes will need: better no token
 * than one that can't be stored. Resolves to how ids are compared.
 */
export async function prepareTokenTable(
  database: Connections,
  options: PlacedTokenTable,
): Promise<Equality | undefined> {
  if (await isToBeCreated(database, options)) {
    await insistOnPlace(database, options);
    await create(database, options);
  }
  return insistOnTable(database, options);
}

/** Rejects if `prepareTokenTable` would, and changes nothing. */
export async function inspectTokenTable(database: Connections, options: PlacedTokenTable): Promise<void> {
  if (await isToBeCreated(database, options)) await insistOnPlace(database, options);
  else await insistOnTable(database, options);
}

const isToBeCreated = async (database: Connections, options: PlacedTokenTable): Promise<boolean> =>
  options.rows === "own" && !(await tableExists(database, quoted(options)));

const quoted = (options: PlacedTokenTable): string => quotedTable({ quoteName, quoteTable }, options);

function insistOnPlace(database: Connections, { table, place }: PlacedTokenTable): Promise<void> {
  const purpose = { code: "TOKEN_STORE_UNAVAILABLE", what: `tokens.table ${table}` } as const;
  return insistOnSchema(database, place?.schema, purpose, { mayBeCreated: false });
}

async function insistOnTable(
  database: Connections,
  options: PlacedTokenTable,
): Promise<Equality | undefined> {
  await checkColumns(database, options);
  if (options.rows === "own") await checkUniqueness(database, options);
  await checkRights(database, options);
  return idEquality(database, quoted(options), options.idColumn);
}

async function create(database: Connections, options: PlacedTokenTable): Promise<void> {
  const { idColumn, tokenColumn } = options;
  await database.transaction(["BEGIN"], async (connection) => {
    // IF NOT EXISTS alone lets two programs try at once, and one of them fails: lock first.
    await connection.query("SELECT pg_advisory_xact_lock(hashtext($1))", [`groupsync ${quoted(options)}`]);
    await connection.query(
      `CREATE TABLE IF NOT EXISTS ${quoted(options)} (
         ${quoteName(idColumn)} text COLLATE "C" PRIMARY KEY,
         ${quoteName(tokenColumn)} text NOT NULL,
         updated_at timestamptz NOT NULL)`,
    );
  });
}

/** Rejects with CONFIG_COLUMNS if a column is missing or can't be written. */
async function checkColumns(database: Connections, options: PlacedTokenTable): Promise<void> {
  const { table, rows, idColumn, tokenColumn } = options;
  const columns = await database.query<{ name: string; type: string; takesText: boolean }>(
    `SELECT attname AS name, format_type(atttypid, atttypmod) AS type,
       typcategory = 'S' AND coalesce(to_jsonb(pg_attribute) ->> 'attgenerated', '') = '' AS "takesText"
     FROM pg_attribute JOIN pg_type ON pg_type.oid = atttypid
     WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`,
    [quoted(options)],
  );
  const wanted = rows === "own" ? [idColumn, tokenColumn, "updated_at"] : [idColumn, tokenColumn];
  const missing = wanted.filter((name) => !columns.some((column) => column.name === name));
  if (missing.length > 0) {
    throw new SyncError("CONFIG_COLUMNS", `tokens.table: ${table} has no column ${missing.join(", ")}`, {
      hint: `its columns are: ${columns.map((column) => column.name).join(", ")}`,
    });
  }
  const written = rows === "own" ? [idColumn, tokenColumn] : [tokenColumn];
  const unfit = columns.find((column) => written.includes(column.name) && !column.takesText);
  if (unfit) {
    throw new SyncError("CONFIG_COLUMNS", `tokens.table: ${table} can't take text in column ${unfit.name}`, {
      hint: `it is ${unfit.type}, or generated; make it a text column of its own`,
    });
  }
}

/** Rejects if no unique key is on the id alone: an insert must meet the existing row. */
async function checkUniqueness(database: Connections, options: PlacedTokenTable): Promise<void> {
  const { table, idColumn } = options;
  const indexes = await database.query(
    `SELECT 1 FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0]
     WHERE indrelid = $1::regclass AND attname = $2
       AND indisunique AND indimmediate AND indisvalid AND indnkeyatts = 1 AND indpred IS NULL`,
    [quoted(options), idColumn],
  );
  if (indexes.length > 0) return;
  throw new SyncError("CONFIG_COLUMNS", `tokens.table: ${table} may have several rows for one ${idColumn}`, {
    hint: `ALTER TABLE ${quoted(options)} ADD PRIMARY KEY (${quoteName(idColumn)})`,
  });
}

async function checkRights(database: Connections, options: PlacedTokenTable): Promise<void> {
  const { table, rows, idColumn, tokenColumn } = options;
  const name = quoted(options);
  const [row] = await database.query<{ user: string; allowed: boolean }>(
    rows === "own"
      ? `SELECT current_user AS user, bool_and(has_table_privilege($1::text, right_)) AS allowed
         FROM unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS right_`
      : `SELECT current_user AS user, has_column_privilege($1::text, $2::text, 'SELECT')
           AND has_column_privilege($1::text, $3::text, 'SELECT')
           AND has_column_privilege($1::text, $3::text, 'UPDATE') AS allowed`,
    rows === "own" ? [name] : [name, idColumn, tokenColumn],
  );
  if (row?.allowed) return;
  const rights =
    rows === "own" ? "SELECT, INSERT, UPDATE, DELETE" : `SELECT, UPDATE (${quoteName(tokenColumn)})`;
  throw new SyncError("TOKEN_STORE_UNAVAILABLE", `user ${row?.user} may not write tokens to ${table}`, {
    hint: `GRANT ${rights} ON ${name} TO ${quoteName(row?.user ?? "")}`,
  });
}
