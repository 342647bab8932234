import type { Queryable } from "./connections.ts";
import type { Assignments, ColumnType, Dialect } from "./dialect.ts";
import type { LedgerTables } from "./ledger-tables.ts";

/** Where a write of the ledger goes: to one scope of its tables, in one transaction. */
export interface LedgerPlace {
  readonly dialect: Dialect;
  readonly connection: Queryable;
  readonly tables: LedgerTables;
  readonly scope: string;
}

/** True of the scope's groups whose ids are $2. */
export const ofIds = ({ dialect }: LedgerPlace): string =>
  `scope = $1 AND ${dialect.isOneOf("user_group_id", "$2")}`;

/**
 * Updates the groups that the rows name. `more` are the values from $4 on. The ids are given twice, for the index: of
 * a table that has just been filled, PostgreSQL's planner thinks that it is small, and would read all of it for the
 * join.
 */
export async function updateGroups(
  { dialect, connection, tables, scope }: LedgerPlace,
  rows: readonly { readonly id: string }[],
  columns: Readonly<Record<string, ColumnType>>,
  set: Assignments,
  more: readonly unknown[] = [],
  condition = "TRUE",
): Promise<void> {
  // On MariaDB a change of nothing would read, and lock, all of the table.
  if (rows.length === 0) return;
  await connection.query(
    dialect.updateFrom({
      table: tables.groups,
      from: dialect.rows("$3", columns),
      set,
      where: `g.scope = $1 AND ${dialect.isOneOf("g.user_group_id", "$2")} AND g.user_group_id = t.id AND ${condition}`,
    }),
    [scope, rows.map(({ id }) => id), JSON.stringify(rows), ...more],
  );
}
