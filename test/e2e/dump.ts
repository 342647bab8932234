import type { Query } from "../support/fresh-database.ts";

/**
 * Everything in a database that a program could have changed: schemas, relations, columns, constraints, and
 * every row with the transaction that wrote it, so that a row written again as it was differs too.
 */
export async function dump(query: Query): Promise<Readonly<Record<string, readonly unknown[]>>> {
  const theirs = "n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'";
  const relations = await query<{ name: string; kind: string }>(
    `SELECT c.oid::regclass::text AS name, c.relkind AS kind, c.oid, c.relacl::text, c.xmin::text
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE ${theirs} ORDER BY c.oid`,
  );
  const contents: Record<string, readonly unknown[]> = {
    relations,
    schemas: await query(`SELECT n.nspname, n.oid, n.nspacl::text FROM pg_namespace n ORDER BY n.oid`),
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
}
