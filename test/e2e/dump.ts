import type { DatabaseKind, FreshDatabase, Query } from "../support/databases/fresh-database.ts";

/** The content of a database: each table by its name, and everything beside the tables. */
export type Dump = Readonly<Record<string, readonly unknown[]>>;

/**
 * Everything in a database that a program could have changed: the tables, their definitions and all rows. On
 * PostgreSQL, a row that was written again unchanged differs too; MySQL doesn't write an unchanged row.
 */
export const dump = ({ kind, query }: FreshDatabase): Promise<Dump> => DUMPS[kind](query);

const DUMPS: Readonly<Record<DatabaseKind, (query: Query) => Promise<Dump>>> = {
  async postgres(query) {
    const theirs = "n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'";
    const relations = await query<{ name: string; kind: string }>(
      `SELECT c.oid::regclass::text AS name, c.relkind AS kind, c.oid, c.relacl::text, c.xmin::text
       FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE ${theirs} ORDER BY c.oid`,
    );
    const contents: Record<string, readonly unknown[]> = {
      relations,
      schemas: await query("SELECT n.nspname, n.oid, n.nspacl::text FROM pg_namespace n ORDER BY n.oid"),
      columns: await query(
        `SELECT a.*, a.attmissingval::text FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
           JOIN pg_namespace n ON n.oid = c.relnamespace WHERE ${theirs} ORDER BY a.attrelid, a.attnum`,
      ),
      constraints: await query("SELECT oid, conname, conrelid FROM pg_constraint ORDER BY oid"),
    };
    for (const { name, kind } of relations) {
      if (kind !== "r") continue;
      contents[name] = await query(
        `SELECT xmin::text, to_json(t)::text AS row FROM ${name} AS t ORDER BY ctid`,
      );
    }
    return contents;
  },

  async mysql(query) {
    const tables = await query<{ name: string }>(
      `SELECT table_name AS name, table_type, create_time FROM information_schema.tables
       WHERE table_schema = database() ORDER BY table_name`,
    );
    const contents: Record<string, readonly unknown[]> = { tables };
    for (const { name } of tables) {
      // Includes the next number of an AUTO_INCREMENT, which even an insert that is rolled back takes.
      contents[`definition of ${name}`] = await query(`SHOW CREATE TABLE ${name}`);
      contents[name] = await query(`SELECT * FROM ${name}`);
    }
    return contents;
  },
};
