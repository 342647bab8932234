import { escapeLiteral } from "pg";
import { WRITE } from "../sql/connection/wait-limits.ts";
import type { ColumnType, Dialect } from "../sql/dialect/dialect.ts";
import { DURABLY, durabilityRisks, serverIdentity } from "./connection/durability.ts";
import { failures } from "./connection/failures.ts";
import { quoteName, quoteTable } from "./connection/identifiers.ts";
import { BEGIN_SNAPSHOT, PIN_AGAIN, UNLOGGED, UNPIN } from "./connection/settings.ts";
import { foreignTables } from "./connection/table-owner.ts";
import { createTable, tableExists, tablePlace } from "./connection/table-place.ts";
import { createLedger, inspectLedger } from "./ledger-tables.ts";
import { PostgresTokenStatements } from "./tokens/token-statements.ts";

const TYPES: Readonly<Record<ColumnType, string>> = {
  id: "text",
  text: "text",
  integer: "integer",
  bigint: "bigint",
  time: "timestamptz",
};

function lockWait(seconds = WRITE.lockMs / 1_000): string {
  return `SET LOCAL lock_timeout = '${seconds}s'`;
}

/**
 * Otherwise a deferred constraint or trigger would fail at the commit, and no error would tell which row is at fault.
 */
const IMMEDIATELY = "SET CONSTRAINTS ALL IMMEDIATE";

export const postgres: Dialect = {
  quoteName,
  quoteTable,
  ...failures,
  begin: {
    write: [...DURABLY, UNLOGGED, IMMEDIATELY],
    lease: DURABLY,
    snapshot: [BEGIN_SNAPSHOT],
  },
  now: "clock_timestamp()",
  // Several statements each: a single one about a savepoint is sent by pgpool to a standby too, which has no transaction.
  savepoint: {
    open: `SAVEPOINT groupsync; ${UNPIN}`,
    undo: `ROLLBACK TO SAVEPOINT groupsync; ${PIN_AGAIN}`,
    release: `RELEASE SAVEPOINT groupsync; ${PIN_AGAIN}`,
  },
  lockWait,
  literal: escapeLiteral,
  later: (milliseconds) => `clock_timestamp() + ${milliseconds} * interval '1 millisecond'`,
  isOneOf: (column, parameter) => `${column} = ANY (${parameter})`,
  // OFFSET 0 is a fence: without it, the planner merges the subquery into the join, and may read the whole scope.
  rowsByIndex: (table, column) =>
    `unnest($2::text[]) AS wanted (value)
     CROSS JOIN LATERAL (SELECT * FROM ${table} WHERE scope = $1 AND ${column} = wanted.value OFFSET 0) AS g`,
  same: (a, b) => `${a} OPERATOR(pg_catalog.=) ${b}`,
  rows: (parameter, columns) =>
    `json_to_recordset(${parameter}) AS t (${Object.entries(columns)
      .map(([name, type]) => `${name} ${TYPES[type]}`)
      .join(", ")})`,
  upsert: ({ into, columns, from, key, set = [] }) => {
    const values = set.map((column) => `${column} = excluded.${column}`);
    const update = values.length > 0 ? `UPDATE SET ${values.join(", ")}` : "NOTHING";
    return `INSERT INTO ${into} (${columns.join(", ")}) ${from} ON CONFLICT (${key.join(", ")}) DO ${update}`;
  },
  selectFenced: (leases, where) => `SELECT 1 FROM ${leases} WHERE ${where} FOR KEY SHARE`,
  serverIdentity,
  durabilityRisks,
  tableExists,
  tablePlace,
  createTable,
  ownerTypes: { name: "text", text: "text", end: "" },
  // Statements quote every column name, so the database has the name as it is written.
  columnName: async (_database, _place, written) => written,
  async grantee(database) {
    const [row] = await database.query<{ user: string }>("SELECT current_user AS user");
    return quoteName(row?.user ?? "");
  },
  foreignTables,
  tokenStatements: (options) => new PostgresTokenStatements(options),
  inspectLedger,
  ledgerSchema: async ({ byRolesPath }, { schema, tablePrefix }) =>
    schema ?? (await tablePlace(byRolesPath, { schema, table: `${tablePrefix}migrations` }))?.schema,
  createLedger,
};
