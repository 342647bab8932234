import { escape as quoted } from "mysql2";
import type { Assignments, Dialect } from "../sql/dialect.ts";
import { durabilityRisks } from "./durability.ts";
import { failures } from "./failures.ts";
import { jsonRows } from "./json-rows.ts";
import { inspectLedger } from "./ledger-inspection.ts";
import { migrateLedger } from "./ledger-migration.ts";
import { ansiNames } from "./names.ts";
import { SNAPSHOT } from "./session.ts";
import { tableExists } from "./table-exists.ts";
import { tablePlace } from "./table-place.ts";
import { tokenOwners } from "./token-owners.ts";
import { MysqlTokenStatements } from "./token-statements.ts";

function lockWait(seconds = 50): string {
  return `SET SESSION innodb_lock_wait_timeout = ${seconds}`;
}

/** MySQL and MariaDB, in sessions with ANSI_QUOTES and the time zone UTC. */
export const mysql: Dialect = {
  ...ansiNames,
  ...failures,
  ...tokenOwners,
  begin: {
    write: [lockWait(), "START TRANSACTION"],
    lease: [lockWait(10), "START TRANSACTION"],
    snapshot: SNAPSHOT,
  },
  now: "SYSDATE(6)",
  savepoint: { open: "SAVEPOINT groupsync", release: "RELEASE SAVEPOINT groupsync" },
  lockWait,
  literal: (text) => quoted(text),
  later: (milliseconds) => `SYSDATE(6) + INTERVAL ${milliseconds} * 1000 MICROSECOND`,
  isOneOf: (column, parameter) => `${column} IN (${parameter})`,
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
  // The index has all that is asked for: its entry is locked, and not the row that a heartbeat writes to.
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
