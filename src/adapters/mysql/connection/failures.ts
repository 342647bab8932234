import { connectionHint, LOCKED } from "../../sql/connection/connection-hints.ts";
import type { Failures } from "../../sql/connection/failures.ts";
import type { SourceFailures } from "../../sql/source/source-dialect.ts";

/** The server's SQLSTATE for an error; empty if the error comes from the driver or the network. */
const sqlState = (error: unknown): string =>
  error instanceof Error && "sqlState" in error && typeof error.sqlState === "string" ? error.sqlState : "";

/**
 * The server's number for an error. The driver's name for an error is MySQL's: MariaDB may give the number another
 * meaning.
 */
const errorNumber = (error: unknown): number =>
  sqlState(error) !== "" && error instanceof Error && "errno" in error ? Number(error.errno) : 0;

const GRANT = "grant the user the right that is missing";
const NO_CONNECTION =
  "the server has no connection to spare; raise max_connections, or the limit of this user";
const READ_ONLY = "is this a read-only replica? The ledger and the tokens need a server that takes writes";
const TOO_SLOW =
  "the server cancelled it: is max_statement_time (MariaDB) or max_execution_time (MySQL) too short for this user?";

const HINTS: Readonly<Record<number, string>> = {
  1038: "a row is too large for the server to sort: raise sort_buffer_size beyond the size of the largest JSON",
  1040: NO_CONNECTION,
  1203: NO_CONNECTION,
  1226: NO_CONNECTION,
  1044: "check the database's name in the url, and grant the user rights on it",
  1045: "check user and password in the url: the server doesn't let this user in from here, or not without TLS (ssl-mode=REQUIRED)",
  1130: "the server doesn't let this host in: create the user for it ('user'@'host')",
  1698: "check user and password in the url: this user logs in by the server's socket alone",
  3159: "the server wants TLS: add ssl-mode=REQUIRED to the url",
  1046: "name a database: mysql://user:password@host/database",
  1049: "check the database's name in the url, or in front of the table",
  1146: "check the table's name and database",
  1153: "a statement is larger than the server lets it be: raise max_allowed_packet",
  1142: GRANT,
  1143: GRANT,
  1227: GRANT,
  1205: LOCKED,
  3572: LOCKED,
  1370: GRANT,
  1288: "this view can't be written to: name the table that it reads",
  1047: "this node of a Galera cluster takes no statements: it is joining, or has lost the majority (see wsrep_cluster_status); name a node that works, or wait",
  1290: READ_ONLY,
  1792: READ_ONLY,
  1836: READ_ONLY,
  1356: "look at the view with SHOW CREATE VIEW: what it reads has changed, or its definer may no longer read it",
  1412: "the table was altered meanwhile; the next run reads it as it is then",
  1665: "set binlog_format to ROW or MIXED on the server: as STATEMENT it can't log these writes",
  1969: TOO_SLOW,
  3024: TOO_SLOW,
};

/**
 * Mistakes in the SQL outside of class 42: ambiguous names, misplaced aggregates, columns that don't fit, collations.
 */
const MISTAKES: ReadonlySet<number> = new Set([
  1052, 1111, 1191, 1210, 1221, 1222, 1241, 1267, 1270, 1271, 4078,
]);
/** Errors of class 42 that are no mistake in the SQL: missing rights, databases and tables, and limits. */
const NO_MISTAKES: ReadonlySet<number> = new Set([1044, 1049, 1142, 1143, 1146, 1203, 1226, 1227, 1370]);

/**
 * No room on disk or in memory, no connection to spare, a shutdown, a read-only server, an unusable binary log, a Galera
 * node outside of its cluster.
 */
const GENERAL: ReadonlySet<number> = new Set([
  3, 1021, 1026, 1030, 1037, 1040, 1041, 1047, 1053, 1077, 1079, 1114, 1203, 1226, 1290, 1598, 1665, 1792,
  1836, 1927, 3100,
]);

/**
 * A deadlock. The nodes of a Galera cluster report in the same way that another node has changed the same rows, and end
 * statements for another node's ALTER TABLE as KILL QUERY does. A server in a replication group has a number of its own.
 */
const ROLLED_BACK: ReadonlySet<number> = new Set([1213, 1317, 3101]);

/** A right to a database, a table or a column is missing. */
export const isDenied = (error: unknown): boolean => [1044, 1142, 1143].includes(errorNumber(error));

/** A privilege of the whole server is missing. */
export const isUnprivileged = (error: unknown): boolean => errorNumber(error) === 1227;

export const failures: Failures & SourceFailures = {
  hintFor: (error) => HINTS[errorNumber(error)] ?? connectionHint("mysql", error),
  isGeneral: (error) => !isAnswer(error) || GENERAL.has(errorNumber(error)),
  // The server puts a question mark in its place, or takes it for 0.
  isOfValue: () => false,
  isDenied,
  isDeadlock: (error) => ROLLED_BACK.has(errorNumber(error)),
  isLockTimeout: (error) => [1205, 3572].includes(errorNumber(error)),
  // 25006: the SQL writes.
  isSqlMistake: (error) =>
    MISTAKES.has(errorNumber(error)) ||
    (/^(42|25006)/.test(sqlState(error)) && !NO_MISTAKES.has(errorNumber(error))),
  mayNotRead: (error) => [1142, 1143, 1370].includes(errorNumber(error)),
  mayHideRows: () => false,
};

/**
 * The table or its database is missing. Not if the url's database is missing: then the server refuses the connection.
 */
export const isMissingTable = (error: unknown): boolean =>
  errorNumber(error) === 1146 || (errorNumber(error) === 1049 && isAnswer(error));

/** A column is missing, or the server computes its values. */
export const isColumnMistake = (error: unknown): boolean => [1054, 1906, 3105].includes(errorNumber(error));

/** A row with this key is there already. */
export const isDuplicate = (error: unknown): boolean => errorNumber(error) === 1062;

/** The server's own error for a statement that is too large. The connection stays usable, because nothing was sent. */
export const tooLarge = (bytes: number, most: number): Error =>
  Object.assign(
    new Error(`a statement of ${bytes} bytes is larger than max_allowed_packet, which is ${most}`),
    { errno: 1153, sqlState: "08S01" },
  );

/** The server has answered with an error, and the connection is still usable. */
export const isAnswer = (error: unknown): boolean =>
  sqlState(error) !== "" && !(error instanceof Error && "fatal" in error && error.fatal === true);
