import type { CatalogColumn, CatalogTable } from "../../src/core/setup/catalog.ts";

/** A column of text that is never null. */
export const aColumn = (name: string, given: Partial<CatalogColumn> = {}): CatalogColumn => ({
  name,
  kind: "text",
  isNullable: false,
  key: null,
  isIndexed: false,
  refersTo: null,
  ...given,
});

export const aKey = (name = "id"): CatalogColumn =>
  aColumn(name, { kind: "integer", key: "primary", isIndexed: true });

/** A column with a foreign key to this table. */
export const aLink = (
  name: string,
  { schema, name: table }: Pick<CatalogTable, "schema" | "name">,
): CatalogColumn => aColumn(name, { kind: "integer", refersTo: { schema, table, column: "id" } });

/** A table with a primary key, a name and these columns. */
export const aTable = (
  name: string,
  columns: readonly CatalogColumn[] = [],
  given: Partial<CatalogTable> = {},
): CatalogTable => ({
  schema: "public",
  name,
  kind: "table",
  owner: null,
  isOurs: true,
  isReadable: true,
  columns: [aKey(), aColumn("name"), ...columns],
  ...given,
});

/** Tables of the user with a foreign key to the id of this one. */
export const tablesReferringTo = (table: CatalogTable, count: number): readonly CatalogTable[] =>
  Array.from({ length: count }, (_, index) =>
    aTable(`${table.name}_part_${index}`, [], {
      columns: [aLink("parent", table)],
    }),
  );
