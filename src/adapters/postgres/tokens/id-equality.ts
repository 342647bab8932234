import type { Queryable } from "../../sql/connection/connections.ts";

/** How to compare a column's values, in names that don't depend on the role's search_path. */
export interface Equality {
  /** The type that both sides are cast to, with its schema. */
  readonly type: string;
  /** The operator, with its schema. */
  readonly operator: string;
}

/**
 * The equality of an index on the column or, without an index, the default equality of the column's type. A statement
 * with this equality can use the index, and citext still ignores case. Undefined if the type has no order. `table` is
 * quoted, with its schema.
 */
export async function idEquality(
  database: Queryable,
  table: string,
  column: string,
): Promise<Equality | undefined> {
  const [found] = await database.query<Equality>(
    `WITH ids AS (
       SELECT a.attrelid, a.attnum,
         CASE WHEN base.typname = 'varchar' THEN 'text'::regtype ELSE base.oid END AS type
       FROM pg_catalog.pg_attribute AS a
       JOIN pg_catalog.pg_type AS own ON own.oid = a.atttypid
       JOIN pg_catalog.pg_type AS base ON base.oid = coalesce(nullif(own.typbasetype, 0), own.oid)
       WHERE a.attrelid = $1::regclass AND a.attname = $2),
     classes AS (
       SELECT i.indclass[0] AS class, CASE WHEN i.indisunique THEN 1 ELSE 2 END AS rank
       FROM ids JOIN pg_catalog.pg_index AS i
         ON i.indrelid = ids.attrelid AND i.indkey[0] = ids.attnum AND i.indisvalid
       UNION ALL
       SELECT o.oid, 3 FROM ids JOIN pg_catalog.pg_opclass AS o ON o.opcdefault AND o.opcintype = ids.type)
     SELECT format('%I.%I', types.nspname, t.typname) AS type,
       format('%I.%s', operators.nspname, o.oprname) AS operator
     FROM classes
     JOIN pg_catalog.pg_opclass AS c ON c.oid = classes.class
     JOIN pg_catalog.pg_am AS m ON m.oid = c.opcmethod AND m.amname = 'btree'
     JOIN pg_catalog.pg_type AS t ON t.oid = c.opcintype AND t.typtype <> 'p'
     JOIN pg_catalog.pg_namespace AS types ON types.oid = t.typnamespace
     JOIN pg_catalog.pg_amop AS p ON p.amopfamily = c.opcfamily AND p.amopstrategy = 3
       AND p.amoplefttype = c.opcintype AND p.amoprighttype = c.opcintype
     JOIN pg_catalog.pg_operator AS o ON o.oid = p.amopopr
     JOIN pg_catalog.pg_namespace AS operators ON operators.oid = o.oprnamespace
     ORDER BY classes.rank, classes.class LIMIT 1`,
    [table, column],
  );
  return found;
}
