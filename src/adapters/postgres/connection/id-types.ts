import { quoteName } from "./identifiers.ts";

/**
 * The SQL for the name of a type in pg_type. It has the schema in front unless the type is one of PostgreSQL's own, or that
 * of the extension citext: whoever may create types can call one `uuid`, with a cast that runs a function. Only a superuser
 * creates base types.
 */
export const typeName = (type: string): string => `CASE
  WHEN ${type}.typnamespace OPERATOR(pg_catalog.=) 'pg_catalog'::pg_catalog.regnamespace::pg_catalog.oid
    OR ${type}.typname OPERATOR(pg_catalog.=) 'citext'::pg_catalog.name
      AND ${type}.typtype OPERATOR(pg_catalog.=) 'b'::pg_catalog."char" AND ${type}.typelem OPERATOR(pg_catalog.=) 0::pg_catalog.oid
  THEN ${type}.typname::pg_catalog.text
  ELSE pg_catalog.format('%s.%I', ${type}.typnamespace::pg_catalog.regnamespace, ${type}.typname) END`;

/** The types that an id can have: equal values always have the same text. */
export const ID_TYPES: ReadonlySet<string> = new Set([
  "text",
  "varchar",
  "bpchar",
  "citext",
  "name",
  "uuid",
  "int2",
  "int4",
  "int8",
]);

/** How the values of an id's type are compared, in names that don't depend on the role's search_path. */
export interface Equality {
  /** The type that both sides are cast to. */
  readonly type: string;
  readonly operator: string;
}

/** citext is in the schema in which its extension was created, and so is its operator. varchar has none of its own. */
export const equalityOf = (type: string, schema: string): Equality => ({
  type: `${quoteName(schema)}.${quoteName(type === "varchar" ? "text" : type)}`,
  operator: `OPERATOR(${quoteName(schema)}.=)`,
});
