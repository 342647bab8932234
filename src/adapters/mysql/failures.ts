import { describe } from "../../core/errors.ts";
import { LockWait } from "../sql/attendance.ts";
import { connectionHint, LOCKED } from "../sql/connection-hints.ts";
import type { Failures } from "../sql/failures.ts";
import type { SourceFailures } from "../sql/source-query.ts";
import { missingGrant } from "./grants.ts";

/** What the server says of an error beside its message; empty where it comes from the driver or the network. */
const sqlState = (error: unknown): string =>
  error instanceof Error && "sqlState" in error && typeof error.sqlState === "string" ? error.sqlState : "";

/** The server's own number of an error. The driver's name for it is MySQL's, which MariaDB may mean otherwise by. */
const errorNumber = (error: unknown): number =>
  sqlState(error) !== "" && error instanceof Error && "errno" in error ? Number(error.errno) : 0;

const GRANT = "grant the user the right that is missing";
const NO_CONNECTION =
  "the server has no connection to spare; raise max_connections, or the limit of this user";
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
  1290: "is this a read-only replica? The ledger and the tokens need a server that takes writes",
  1356: "look at the view with SHOW CREATE VIEW: what it reads has changed, or its definer may no longer read it",
  1412: "the table was altered meanwhile; the next run reads it as it is then",
  1665: "set binlog_format to ROW or MIXED on the server: as STATEMENT it can't log these writes",
  1969: TOO_SLOW,
  3024: TOO_SLOW,
};

/** Not in class 42, and yet the SQL's own: ambiguous names, misplaced aggregates, columns that don't fit, collations. */
const MISTAKES: ReadonlySet<number> = new Set([
  1052, 1111, 1191, 1210, 1221, 1222, 1241, 1267, 1270, 1271, 4078,
]);
/** In class 42, and yet not the SQL's: missing rights, databases and tables, and limits. */
const NO_MISTAKES: ReadonlySet<number> = new Set([1044, 1049, 1142, 1143, 1146, 1203, 1226, 1227, 1370]);

/** No room on disk or in memory, no connection to spare, a shutdown, a server that is read-only, and no way to log. */
const GENERAL: ReadonlySet<number> = new Set([
  3, 1021, 1026, 1030, 1037, 1040, 1041, 1053, 1077, 1079, 1114, 1203, 1226, 1290, 1598, 1665, 1792, 1836,
  1927, 3100,
]);

const grantFor = (error: unknown): string | undefined =>
  [1142, 1143, 1370].includes(errorNumber(error)) ? missingGrant(describe(error)) : undefined;

export const failures: Failures & SourceFailures = {
  hintFor: (error) =>
    error instanceof LockWait
      ? LOCKED
      : (grantFor(error) ?? HINTS[errorNumber(error)] ?? connectionHint("mysql", error)),
  isGeneral: (error) => !isAnswer(error) || GENERAL.has(errorNumber(error)),
  refusesNull: (error, column) =>
    error instanceof Error && errorNumber(error) === 1048 && error.message.includes(`'${column}'`),
  isDeadlock: (error) => errorNumber(error) === 1213,
  isLockTimeout: (error) => [1205, 3572].includes(errorNumber(error)),
  // Or it does what a read can't: it writes (25006).
  isSqlMistake: (error) =>
    MISTAKES.has(errorNumber(error)) ||
    (/^(42|25006)/.test(sqlState(error)) && !NO_MISTAKES.has(errorNumber(error))),
};

/** Also where its database is missing, but not where the url's is: then nobody is let in. */
export const isMissingTable = (error: unknown): boolean =>
  errorNumber(error) === 1146 || (errorNumber(error) === 1049 && isAnswer(error));

/** A column is missing, or computed by the server. */
export const isColumnMistake = (error: unknown): boolean => [1054, 1906, 3105].includes(errorNumber(error));

/** A column or a key that was to be added or dropped has been before. */
export const isDoneAlready = (error: unknown): boolean => [1060, 1061, 1091].includes(errorNumber(error));

/** As the server says it, but for the end of the connection. */
export const tooLarge = (bytes: number, most: number): Error =>
  Object.assign(
    new Error(`a statement of ${bytes} bytes is larger than max_allowed_packet, which is ${most}`),
    { errno: 1153, sqlState: "08S01" },
  );

/** A right to a database, a table or a column is missing. */
export const isDenied = (error: unknown): boolean => [1044, 1142, 1143].includes(errorNumber(error));

/** An answer of the server, and no failure to reach it. */
export const isFromServer = (error: unknown): boolean => sqlState(error) !== "";

/** The server has answered: the connection is as good as it was. */
export const isAnswer = (error: unknown): boolean =>
  sqlState(error) !== "" && !(error instanceof Error && "fatal" in error && error.fatal === true);
