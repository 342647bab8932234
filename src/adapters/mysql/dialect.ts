import { escape as quoted } from "mysql2";
import type { Assignments, ColumnType, Dialect } from "../sql/dialect.ts";
import { failures, isMissingTable } from "./failures.ts";
import { migrateLedger } from "./ledger-migration.ts";
import { ansiNames, names } from "./names.ts";

/** A column of a JSON_TABLE, and how it is read. JSON_TABLE alone would take the database's character set. */
const TYPES: Readonly<Record<ColumnType, (column: string) => readonly [type: string, read: string]>> = {
  id: (column) => [`VARCHAR(512) ${TEXT}`, `CAST(${column} AS BINARY)`],
  text: (column) => [`LONGTEXT ${TEXT}`, column],
  integer: (column) => ["INT", column],
  bigint: (column) => ["BIGINT", column],
  time: (column) => [
    `VARCHAR(40) ${TEXT}`,
    `CAST(REPLACE(REPLACE(${column}, 'T', ' '), 'Z', '') AS DATETIME(6))`,
  ],
};
const TEXT = "CHARACTER SET utf8mb4 COLLATE utf8mb4_bin";

/** MySQL and MariaDB, in sessions with ANSI_QUOTES and the time zone UTC. */
export const mysql: Dialect = {
  database: "MySQL",
  ...ansiNames,
  ...failures,
  begin: {
    write: ["SET SESSION innodb_lock_wait_timeout = 50", "START TRANSACTION"],
    tokens: ["SET SESSION innodb_lock_wait_timeout = 50", "START TRANSACTION"],
    lease: ["SET SESSION innodb_lock_wait_timeout = 2", "START TRANSACTION"],
    snapshot: [
      "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
      "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
    ],
  },
  now: "SYSDATE(6)",
  literal: (text) => quoted(text),
  later: (milliseconds) => `SYSDATE(6) + INTERVAL ${milliseconds} * 1000 MICROSECOND`,
  isOneOf: (column, parameter) => `${column} IN (${parameter})`,
  differ: (a, b) => `NOT (${a} <=> ${b})`,
  rows: (parameter, columns) => {
    const read = Object.entries(columns).map(([name, type]) => `${TYPES[type](`j.${name}`)[1]} AS ${name}`);
    const typed = Object.entries(columns).map(
      ([name, type]) => `${name} ${TYPES[type](name)[0]} PATH '$.${name}'`,
    );
    return `(SELECT ${read.join(", ")} FROM JSON_TABLE(${parameter}, '$[*]' COLUMNS (${typed.join(", ")})) AS j) AS t`;
  },
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
  tableExists: async (connections, table) => {
    try {
      await connections.query(`SELECT 1 FROM ${table} WHERE FALSE`);
      return true;
    } catch (error) {
      if (isMissingTable(error)) return false;
      throw error;
    }
  },
  allowNull: (table, column) =>
    `ALTER TABLE ${names.quoteTable(table)} MODIFY ${names.quoteName(column)} with its type and NULL`,
  tokenStatements: () => {
    throw new Error("not yet");
  },
  migrateLedger,
};

const assign = (set: Assignments, table: string): string =>
  Object.entries(set)
    .map(([column, value]) => `${table}.${column} = ${value}`)
    .join(", ");
