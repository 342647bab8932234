import { describe, SyncError } from "../../core/errors.ts";

/** What PostgreSQL says of an error beside its message. */
const sqlState = (error: unknown): string =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";

const HINTS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "is the database running, and are host and port in the url right?",
  ENOTFOUND: "the host in the url is not known; is it spelled right?",
  EAI_AGAIN: "the host in the url could not be looked up; does DNS work here?",
  ETIMEDOUT: "the host doesn't answer; is a firewall in between?",
  "28P01": "check user and password in the url",
  "28000": "check user and pg_hba.conf: the server doesn't let this user in from here",
  "3D000": "check the database's name in the url",
  "42P01": "check the table's name and schema, and that the user's search_path finds it",
  "3F000": "check the schema's name",
  "42501": "grant the user the right that is missing",
  "53300": "the server has no connection to spare; raise max_connections or use a pooler",
  "57014": "the server cancelled it: is statement_timeout too short for this user?",
};

/** Wraps whatever a driver threw, with a hint where the error is a familiar one. Keeps a SyncError as it is. */
export function databaseError(code: string, doing: string, error: unknown): SyncError {
  if (error instanceof SyncError) return error;
  const cause = error instanceof AggregateError ? error.errors[0] : error;
  const hint = HINTS[sqlState(cause)];
  return new SyncError(code, `${doing}: ${describe(cause)}`, hint ? { hint, cause } : { cause });
}

/**
 * The values are at fault (class 22), or a constraint (23), a view (44) or a trigger (P0001) refuses them:
 * another row may well work.
 */
export const isDataError = (error: unknown): boolean => /^(22|23|44|P0001)/.test(sqlState(error));

/** A column by this name takes no NULL. */
export const refusesNull = (error: unknown, column: string): boolean =>
  error instanceof Error && sqlState(error) === "23502" && "column" in error && error.column === column;

/**
 * The SQL itself is wrong: all of class 42 but a missing right and a missing table. Or it does what a
 * read can't: it writes (25006), or stands where PostgreSQL doesn't take it (0A000).
 */
export const isSqlMistake = (error: unknown): boolean => /^(42(?!501|P01)|25006|0A000)/.test(sqlState(error));

/** Somebody else kept a lock for longer than this transaction was willing to wait. */
export const isLockTimeout = (error: unknown): boolean => sqlState(error) === "55P03";
