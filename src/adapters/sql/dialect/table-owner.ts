import { SyncError } from "../../../core/failure/sync-error.ts";
import type { Queryable } from "../connection/connections.ts";
import type { Identifiers } from "../connection/identifiers.ts";

/** A table whose owner is neither this user nor one of its groups. */
export interface ForeignTable {
  readonly table: string;
  readonly owner: string;
  readonly user: string;
}

interface TablesOfOwners {
  readonly schema: string;
  readonly tables: readonly string[];
  /** Other roles that may own the tables. */
  readonly trusted: readonly string[];
}

/** How one kind of database tells who owns a table. */
export interface TableOwners {
  /**
   * Which of the tables somebody else owns. Leaves out missing tables, and all tables of a database that knows no
   * owners.
   */
  foreignTables(database: Queryable, tables: TablesOfOwners): Promise<readonly ForeignTable[]>;
}

/**
 * Rejects with CONFIG_TABLE_OWNER if somebody else owns one of the tables, because a table's owner reads what is
 * written there and can run code as its readers and writers. Call before any statement on the tables.
 */
export async function insistOnOwner(
  database: Queryable & { readonly dialect: TableOwners & Pick<Identifiers, "quoteName"> },
  tables: TablesOfOwners,
): Promise<void> {
  const { dialect } = database;
  const foreign = await dialect.foreignTables(database, tables);
  const [first] = foreign;
  if (!first) return;
  const { owner, user } = first;
  const shown = (name: string): string => [tables.schema, name].map(dialect.quoteName).join(".");
  const repair = foreign
    .map(({ table }) => `ALTER TABLE ${shown(table)} OWNER TO ${dialect.quoteName(user)}`)
    .join("; ");
  throw new SyncError(
    "CONFIG_TABLE_OWNER",
    `the table ${shown(first.table)} belongs to the role ${owner}, and groupsync works as ${user}: whoever owns a table reads what is written there, and can run code as whoever writes it`,
    {
      hint: `if you don't know that table, find out who made it before anything else. If it is meant, write tokens.owner: ${owner} in the config; or give it to groupsync: ${repair}`,
    },
  );
}
