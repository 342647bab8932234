import type { CatalogColumn, CatalogTable } from "../../src/core/setup/catalog.ts";

/** A column of text that is never null. */
export const aColumn = (name: string, given: Partial<CatalogColumn> = {}): CatalogColumn => ({
  name,
  kind: "text",
  isNullable: false,
  key: null,
  isIndexed: false,
  ...given,
});

export const aKey = (name = "id"): CatalogColumn =>
  aColumn(name, { kind: "integer", key: "primary", isIndexed: true });

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
