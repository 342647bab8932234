import { escape as quoted } from "mysql2";
import type { DurabilityRisk } from "../../ports/ledger/ledger.ts";
import type { Queryable } from "../sql/connection/connections.ts";
import { WRITE } from "../sql/connection/wait-limits.ts";
import type { Assignments, Dialect } from "../sql/dialect/dialect.ts";
import type { TokenOwnerStatements } from "../sql/dialect/token-statements.ts";
import { failures, isDenied } from "./connection/failures.ts";
import { identifiers } from "./connection/identifiers.ts";
import { jsonRows } from "./connection/json-rows.ts";
import { currentAccount } from "./connection/rights.ts";
import { SNAPSHOT } from "./connection/settings.ts";
import { tableExists, tablePlace } from "./connection/table-place.ts";
import { inspectLedger, migrateLedger, TABLE_OPTIONS } from "./ledger-tables.ts";
import { MysqlTokenStatements } from "./tokens/token-statements.ts";

/** A server that takes no writes refuses it, and not only the first write. */
const BEGIN = "START TRANSACTION READ WRITE";

function lockWait(seconds = WRITE.lockMs / 1_000): string {
  return `SET SESSION innodb_lock_wait_timeout = ${seconds}`;
}

const tokenOwners: TokenOwnerStatements = {
  async columnName(database, { schema, table }, written) {
    const [found] = await database.query<{ name: string }>(
      `SELECT COLUMN_NAME AS name FROM information_schema.COLUMNS
       WHERE TABLE_SCHEMA = $1 AND TABLE_NAME = $2 AND LOWER(COLUMN_NAME) = LOWER($3)`,
      [schema, table, written],
    );
    // The column does not exist yet, or is hidden from this user.
    return found?.name ?? written;
  },
  ownerTypes: { name: "VARCHAR(64)", text: "TEXT", end: ` ${TABLE_OPTIONS}` },
  createOnce: async (database, statement) => {
    await database.query(statement);
  },
  grantee: async (database) => (await currentAccount(database)).quoted,
  isDenied,
};

/** MySQL and MariaDB, in sessions with ANSI_QUOTES and the time zone UTC. */
export const mysql: Dialect = {
  ...identifiers,
  ...failures,
  ...tokenOwners,
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
  differ: (a, b) => `NOT (${a} <=> ${b})`,
  rows: jsonRows,
  jsonObject: (members) =>
    `JSON_OBJECT(${Object.entries(members)
      .map(
        ([name, { of, isTime }]) =>
          `'${name}', ${isTime ? `DATE_FORMAT(${of}, '%Y-%m-%dT%H:%i:%s.%fZ')` : of}`,
      )
      .join(", ")})`,
  upsert: ({ into, columns, from, key, set }) => {
    const was = (column: string): string => `${into}.${column}`;
    const nothing = Object.fromEntries(key.map((column) => [column, was(column)]));
    const assignments = set?.((column) => `VALUES(${column})`, was) ?? nothing;
    return `INSERT INTO ${into} (${columns.join(", ")}) ${from} ON DUPLICATE KEY UPDATE ${assign(assignments, into)}`;
  },
  updateFrom: ({ table, from, set, where }) =>
    `UPDATE ${from} STRAIGHT_JOIN ${table} AS g SET ${assign(set, "g")} WHERE ${where}`,
  // Read from the index alone: that locks the index entry, and not the row that a renewal of the lease updates.
  selectFenced: (leases, where) =>
    `SELECT epoch FROM ${leases} FORCE INDEX (fence) WHERE ${where} LOCK IN SHARE MODE`,
  durabilityRisks,
  tableExists,
  tablePlace,
  foreignTables: async () => [],
  tokenStatements: (options) => new MysqlTokenStatements(options),
  inspectLedger,
  ledgerSchema: async () => undefined,
  migrateLedger,
};

const assign = (set: Assignments, table: string): string =>
  Object.entries(set)
    .map(([column, value]) => `${table}.${column} = ${value}`)
    .join(", ");

/**
 * Only with the value 1 does each commit wait for the disk. The binary log counts too, if it is on: replicas and
 * restored backups have only what is in that log.
 */
export async function durabilityRisks(database: Queryable): Promise<readonly DurabilityRisk[]> {
  const [row] = await database.query<{ flush: unknown; sync: unknown; isLogged: unknown }>(
    `SELECT @@innodb_flush_log_at_trx_commit AS "flush", @@sync_binlog AS "sync", @@log_bin AS "isLogged"`,
  );
  const settings = [
    ["innodb_flush_log_at_trx_commit", Number(row?.flush)],
    ...(Number(row?.isLogged) === 1 ? [["sync_binlog", Number(row?.sync)] as const] : []),
  ] as const;
  return settings
    .filter(([, value]) => value !== 1)
    .map(([name, value]) => ({ setting: `${name} = ${value}`, safe: `${name} = 1` }));
}
