import { escapeLiteral } from "pg";
import type { Assignments, ColumnType, Dialect } from "../sql/dialect.ts";
import { failures } from "./failures.ts";
import { migrateLedger } from "./ledger-migration.ts";
import { quoteName, quoteTable } from "./names.ts";
import { tableExists } from "./table-exists.ts";
import { PostgresTokenStatements } from "./token-statements.ts";

const TYPES: Readonly<Record<ColumnType, string>> = {
  id: "text",
  text: "text",
  integer: "integer",
  bigint: "bigint",
  time: "timestamptz",
};

export const postgres: Dialect = {
  quoteName,
  quoteTable,
  ...failures,
  begin: {
    write: ["BEGIN", "SET LOCAL idle_in_transaction_session_timeout = '60s'"],
    tokens: ["BEGIN"],
    lease: ["BEGIN", "SET LOCAL lock_timeout = '2s'"],
    snapshot: ["BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"],
  },
  now: "clock_timestamp()",
  literal: escapeLiteral,
  later: (milliseconds) => `clock_timestamp() + ${milliseconds} * interval '1 millisecond'`,
  isOneOf: (column, parameter) => `${column} = ANY (${parameter})`,
  differ: (a, b) => `${a} IS DISTINCT FROM ${b}`,
  rows: (parameter, columns) =>
    `json_to_recordset(${parameter}) AS t (${Object.entries(columns)
      .map(([name, type]) => `${name} ${TYPES[type]}`)
      .join(", ")})`,
  jsonObject: (members) =>
    `json_build_object(${Object.entries(members)
      .map(([name, { of }]) => `'${name}', ${of}`)
      .join(", ")})::text`,
  upsert: ({ into, columns, from, key, set }) => {
    const assignments = set?.(
      (column) => `excluded.${column}`,
      (column) => `g.${column}`,
    );
    const otherwise = assignments ? `UPDATE SET ${assign(assignments)}` : "NOTHING";
    return `INSERT INTO ${into} AS g (${columns.join(", ")}) ${from}
      ON CONFLICT (${key.join(", ")}) DO ${otherwise}`;
  },
  updateFrom: ({ table, from, set, where }) =>
    `UPDATE ${table} AS g SET ${assign(set)} FROM ${from} WHERE ${where}`,
  selectFenced: (leases, where) => `SELECT 1 FROM ${leases} WHERE ${where} FOR KEY SHARE`,
  tableExists,
  tokenStatements: (options) => new PostgresTokenStatements(options),
  migrateLedger,
};

const assign = (set: Assignments): string =>
  Object.entries(set)
    .map(([column, value]) => `${column} = ${value}`)
    .join(", ");
