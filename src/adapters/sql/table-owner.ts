import { SyncError } from "../../core/errors.ts";
import type { Queryable } from "./connections.ts";
import type { TokenOwnerStatements } from "./token-owner-statements.ts";

/** A table whose owner is neither this user nor a group of roles that it belongs to. */
export interface ForeignTable {
  readonly table: string;
  readonly owner: string;
  readonly user: string;
}

export interface TablesOfOwners {
  readonly schema: string;
  readonly tables: readonly string[];
  /** Roles that may own them all the same. */
  readonly trusted: readonly string[];
}

/** How one kind of database tells who owns a table. */
export interface TableOwners {
  /**
   * Those of the tables that somebody else owns; none where tables have no owners. What isn't there is nobody's. A
   * superuser belongs to every role, which says nothing; nor does a role that can log in count as a group: before
   * PostgreSQL 16 any such role could make this user its member by itself.
   */
  foreignTables(database: Queryable, tables: TablesOfOwners): Promise<readonly ForeignTable[]>;
}

/**
 * Whoever owns a table can read what is written there and have code run as whoever reads or writes it. Rejects with
 * CONFIG_TABLE_OWNER, before any such statement.
 */
export async function insistOnOwner(
  database: Queryable & { readonly dialect: TableOwners & Pick<TokenOwnerStatements, "shownName"> },
  tables: TablesOfOwners,
): Promise<void> {
  const { dialect } = database;
  const foreign = await dialect.foreignTables(database, tables);
  const [first] = foreign;
  if (!first) return;
  const { owner, user } = first;
  const shown = (name: string): string => [tables.schema, name].map(dialect.shownName).join(".");
  const mend = foreign
    .map(({ table }) => `ALTER TABLE ${shown(table)} OWNER TO ${dialect.shownName(user)}`)
    .join("; ");
  throw new SyncError(
    "CONFIG_TABLE_OWNER",
    `the table ${shown(first.table)} belongs to the role ${owner}, and groupsync works as ${user}: whoever owns a table reads what is written there, and can run code as whoever writes it`,
    {
      hint: `if you don't know that table, find out who made it before anything else. If it is meant, write tokens.owner: ${owner} in the config; or give it to groupsync: ${mend}`,
    },
  );
}
