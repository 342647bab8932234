import type { Queryable } from "../../sql/connection/connections.ts";

/**
 * What groupsync's statements and the driver depend on, whatever the server, the database, the role or the url says.
 * The settings are set for each transaction, in the round trip that begins it, and never for the session, because a
 * pooler may give the session to another client. Every role may set them.
 */
export const SETTINGS = {
  DateStyle: "ISO, YMD",
  IntervalStyle: "iso_8601",
  TimeZone: "UTC",
  bytea_output: "hex",
  extra_float_digits: "1",
  array_nulls: "on",
} as const;

/** Begins a transaction that writes. */
export const BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";
/** Begins a transaction that reads the data of one point in time. */
export const BEGIN_SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/** For a transaction that reads: an hour. Its reader may wait meanwhile for what it reads beside this, or for a lock. */
export const UNHURRIED = { idle_in_transaction_session_timeout: "3600000" } as const;

/**
 * Sets configuration parameters of PostgreSQL for the transaction. Returns no row, because the driver would take the row
 * for one of the next statement's. `others` are more calls of set_config.
 */
export function setLocally(settings: Readonly<Record<string, string>>, ...others: string[]): string {
  const set = Object.entries({ ...SETTINGS, ...settings }).map(
    ([name, value]) => `pg_catalog.set_config('${name}', '${value}', true)`,
  );
  return `SELECT 1 WHERE ${[...set, ...others].map((call) => `${call} IS NULL`).join(" OR ")}`;
}

/**
 * A call of set_config. A database in SQL_ASCII takes any bytes as text, and fails to send as UTF-8 what isn't: one such
 * value would end a read. So its session sends the bytes as they are, and the driver reads U+FFFD for those that are not
 * UTF-8.
 */
export const textOrBytes = (until: "end of transaction" | "end of session"): string =>
  `pg_catalog.set_config('client_encoding',
     CASE WHEN pg_catalog.current_setting('server_encoding') OPERATOR(pg_catalog.=) 'SQL_ASCII' THEN 'SQL_ASCII' ELSE 'UTF8' END,
     ${until === "end of transaction"})`;

const LOG_SETTING = "'log_parameter_max_length_on_error'";
const LOGGED = `pg_catalog.current_setting(${LOG_SETTING})`;

/** Keeps parameters, which may be tokens, out of what the server logs about errors in the rest of this transaction. */
export const UNLOGGED = `SELECT CASE WHEN ${LOGGED} <> '0' THEN pg_catalog.set_config(${LOG_SETTING}, '0', true) END`;

/** Whether the server logs the parameters of a statement that fails, unless the transaction has run UNLOGGED. */
export async function logsParameters(database: Queryable): Promise<boolean> {
  const [row] = await database.query<{ value: string }>(`SELECT ${LOGGED} AS value`);
  return row?.value !== "0";
}

/**
 * PostgreSQL looks names up in each schema of the role's search_path. If somebody else may create functions or
 * operators in one of these schemas, a statement may run them with groupsync's rights. Every statement therefore has
 * one of two forms:
 *
 * - The statement names its tables with their schemas, and runs with a search_path that has only PostgreSQL's own
 *   names.
 * - The statement runs with the role's search_path, because it looks up where that path leads, or because the triggers
 *   and policies of a customer's table may need that path. It names every function, operator, type and collation with a
 *   schema.
 *
 * The path is set for a transaction and never for the session, because a pooler may give the session to another client.
 */
const PATH = "pg_catalog, pg_temp";

/** The setting in which a transaction keeps the session's own search_path. */
const KEPT = "'groupsync.search_path'";

/** Gives a transaction the search_path with PostgreSQL's own names alone: pins the path. */
export const PIN = `SELECT pg_catalog.set_config(${KEPT}, pg_catalog.current_setting('search_path'), true);
  SET LOCAL search_path = ${PATH}`;

/** Gives the transaction the role's path back; PIN_AGAIN pins the path again. */
export const UNPIN = `SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting(${KEPT}), true)`;
export const PIN_AGAIN = `SET LOCAL search_path = ${PATH}`;

/** Pins the path in the round trip of one statement. */
export const PINNED_PATH = { search_path: PATH } as const;
