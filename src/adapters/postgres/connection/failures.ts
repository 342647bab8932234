import { connectionHint, LOCKED, NO_ROOM } from "../../sql/connection/connection-hints.ts";
import type { Failures } from "../../sql/connection/failures.ts";
import type { SourceFailures } from "../../sql/source/source-dialect.ts";

/** PostgreSQL's SQLSTATE for an error. Errors of the network have codes of Node.js. */
const sqlState = (error: unknown): string =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";

const ENCODING =
  "a text has bytes or a character without counterpart in the other encoding: correct it, or leave its row out with source.where";

const STANDBY =
  "this server is a standby, which takes no writes: write the primary server's host into the url of the ledger and the tokens";

const HINTS: Readonly<Record<string, string>> = {
  "22021": ENCODING,
  "22P05": ENCODING,
  "25006": STANDBY,
  "25P03":
    "the server ended the transaction: is idle_in_transaction_session_timeout too short for this user?",
  "25P04": "the server ended the transaction: set transaction_timeout to 0 for this user",
  "28P01": "check user and password in the url",
  "28000":
    "check user and pg_hba.conf: the server doesn't let this user in from here, or not without TLS (sslmode=require)",
  "3D000": "check the database's name in the url",
  // groupsync has no serializable transaction, so only a standby says this.
  "40001":
    "this standby had to apply a change that the read stood in the way of: raise max_standby_streaming_delay there or set hot_standby_feedback = on, or read from the primary",
  "42P01": "check the table's name and schema, and that the user's search_path finds it",
  "3F000": "check the schema's name",
  "42501": "grant the user the right that is missing",
  "53300": "the server has no connection to spare; raise max_connections or use a pooler",
  "55P03": LOCKED,
  "57014": "the server cancelled it: is statement_timeout too short for this user?",
};

/**
 * A standby refuses BEGIN READ WRITE. Recognised by the name of a function in the server's source, because the message is
 * in the server's language.
 */
const isOnStandby = (error: unknown): boolean =>
  sqlState(error) === "0A000" &&
  error instanceof Error &&
  "routine" in error &&
  error.routine === "call_bool_check_hook";

/** row_security is off for this session, and a policy is there. Recognised by the function's name, as above. */
const mayHideRows = (error: unknown): boolean =>
  error instanceof Error && "routine" in error && error.routine === "check_enable_rls";

/** By the message, because poolers have one code for everything. Theirs is English. */
const MESSAGES: readonly (readonly [RegExp, string])[] = [
  [
    /waits for a synchronous standby/,
    "bring the standby back, or take it out of synchronous_standby_names on the primary",
  ],
  [/query_wait_timeout/, NO_ROOM],
  [/max_client_conn/, "the pooler takes no more clients: raise max_client_conn of PgBouncer"],
  [
    /failed to read kind from backend/,
    "pgpool has sent a statement to a standby too: set load_balance_mode of pgpool to off",
  ],
  [
    /statement pooling mode/,
    "the pooler gives each statement another connection: set pool_mode of PgBouncer to transaction or session",
  ],
];

/** A broken connection (08), a read-only transaction or server (25), no room (53), and errors of files (58). */
const GENERAL = /^(08|25|53|58)/;

const messageHint = (error: unknown): string | undefined =>
  error instanceof Error ? MESSAGES.find(([message]) => message.test(error.message))?.[1] : undefined;

/** A session that ends, or that doesn't come about: a broken connection, a refused login, a shutdown, a timeout. */
const WITHOUT_SESSION = /^(08|28|3D000|53300|57P0|25P0[34])/;

/** The server has answered with an error, and the session is still usable. */
export function isAnswer(error: unknown): boolean {
  // An error of the driver or of the network has no severity.
  if (!(error instanceof Error && "severity" in error)) return false;
  switch (error.severity) {
    case "ERROR":
      return true;
    case "FATAL":
    case "PANIC":
      return false;
    default:
      // The word is in the server's language.
      return !WITHOUT_SESSION.test(sqlState(error));
  }
}

export const failures: Failures & SourceFailures = {
  hintFor: (error) => {
    if (isOnStandby(error)) return STANDBY;
    return messageHint(error) ?? HINTS[sqlState(error)] ?? connectionHint("postgres", error);
  },
  isGeneral: (error) => !isAnswer(error) || isOnStandby(error) || GENERAL.test(sqlState(error)),
  isOfValue: (error) => sqlState(error).startsWith("22"),
  isDenied: (error) => sqlState(error) === "42501",
  isDeadlock: (error) => /^40(001|P01)/.test(sqlState(error)),
  isLockTimeout: (error) => sqlState(error) === "55P03",
  // Class 42 without a missing right and a missing table; SQL that writes (25006); SQL in a place where PostgreSQL
  // doesn't support it (0A000).
  isSqlMistake: (error) => /^(42(?!501|P01)|25006|0A000)/.test(sqlState(error)),
  mayNotRead: (error) => sqlState(error) === "42501" && !mayHideRows(error),
  mayHideRows,
};
