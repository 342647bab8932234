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
       SELECT attrelid, attnum, CASE WHEN base.typname = 'varchar' THEN 'text'::regtype ELSE base.oid END AS type
       FROM pg_attribute JOIN pg_type AS own ON own.oid = atttypid
       JOIN pg_type AS base ON base.oid = coalesce(nullif(own.typbasetype, 0), own.oid)
       WHERE attrelid = $1::regclass AND attname = $2),
     classes AS (
       SELECT indclass[0] AS class, CASE WHEN indisunique THEN 1 ELSE 2 END AS rank
       FROM ids JOIN pg_index ON indrelid = attrelid AND indkey[0] = attnum AND indisvalid
       UNION ALL
       SELECT pg_opclass.oid, 3 FROM ids JOIN pg_opclass ON opcdefault AND opcintype = type)
     SELECT format('%I.%I', (SELECT nspname FROM pg_namespace WHERE oid = typnamespace), typname) AS type,
       format('%I.%s', (SELECT nspname FROM pg_namespace WHERE oid = oprnamespace), oprname) AS operator
     FROM classes
     JOIN pg_opclass ON pg_opclass.oid = class
       AND opcmethod = (SELECT oid FROM pg_am WHERE amname = 'btree')
     JOIN pg_type ON pg_type.oid = opcintype AND typtype <> 'p'
     JOIN pg_amop ON amopfamily = opcfamily AND amopstrategy = 3
       AND amoplefttype = opcintype AND amoprighttype = opcintype
     JOIN pg_operator ON pg_operator.oid = amopopr
     ORDER BY rank, class LIMIT 1`,
    [table, column],
  );
  return found;
}
