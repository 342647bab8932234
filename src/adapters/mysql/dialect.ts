import { escape as quoted } from "mysql2";
import { WRITE } from "../sql/connection/wait-limits.ts";
import type { Dialect } from "../sql/dialect/dialect.ts";
import { durabilityRisks, serverIdentity } from "./connection/durability.ts";
import { failures } from "./connection/failures.ts";
import { identifiers } from "./connection/identifiers.ts";
import { currentAccount } from "./connection/rights.ts";
import { SNAPSHOT } from "./connection/settings.ts";
import { jsonRows } from "./connection/statement.ts";
import { columnName, tableExists, tablePlace } from "./connection/table-place.ts";
import { createLedger, inspectLedger, TABLE_OPTIONS } from "./ledger-tables.ts";
import { MysqlTokenStatements } from "./tokens/token-statements.ts";

/** A server that takes no writes refuses it, and not only the first write. */
const BEGIN = "START TRANSACTION READ WRITE";

function lockWait(seconds = WRITE.lockMs / 1_000): string {
  return `SET SESSION innodb_lock_wait_timeout = ${seconds}`;
}

/** MySQL and MariaDB, in sessions with ANSI_QUOTES and the time zone UTC. */
export const mysql: Dialect = {
  ...identifiers,
  ...failures,
  begin: {
    write: [BEGIN],
    lease: [BEGIN],
    snapshot: SNAPSHOT,
  },
  now: "SYSDATE(6)",
  savepoint: {
    open: "SAVEPOINT groupsync",
    undo: "ROLLBACK TO SAVEPOINT groupsync",
    release: "RELEASE SAVEPOINT groupsync",
  },
  lockWait,
  literal: (text) => quoted(text),
  later: (milliseconds) => `SYSDATE(6) + INTERVAL ${milliseconds} * 1000 MICROSECOND`,
  isOneOf: (column, parameter) => `${column} IN (${parameter})`,
  rowsByIndex: (table, column) => `(SELECT * FROM ${table} WHERE scope = $1 AND ${column} IN ($2)) AS g`,
  same: (a, b) => `${a} = ${b}`,
  rows: jsonRows,
  upsert: ({ into, columns, from, key, set = [] }) => {
    const values = set.map((column) => `${into}.${column} = VALUES(${column})`);
    const nothing = key.map((column) => `${into}.${column} = ${into}.${column}`);
    const update = (values.length > 0 ? values : nothing).join(", ");
    return `INSERT INTO ${into} (${columns.join(", ")}) ${from} ON DUPLICATE KEY UPDATE ${update}`;
  },
  // Read from the index alone: that locks the index entry, and not the row that a renewal of the lease updates.
  selectFenced: (leases, where) =>
    `SELECT epoch FROM ${leases} FORCE INDEX (fence) WHERE ${where} LOCK IN SHARE MODE`,
  serverIdentity,
  durabilityRisks,
  tableExists,
  tablePlace,
  createTable: (database, statement) => database.query(statement),
  ownerTypes: { name: "VARCHAR(64)", text: "TEXT", end: ` ${TABLE_OPTIONS}` },
  columnName,
  grantee: async (database) => (await currentAccount(database)).quoted,
  foreignTables: async () => [],
  tokenStatements: (options) => new MysqlTokenStatements(options),
  inspectLedger,
  ledgerSchema: async () => undefined,
  createLedger,
};
