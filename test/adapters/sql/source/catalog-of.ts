import { catalogSql as mysql } from "../../../../src/adapters/mysql/source/catalog.ts";
import { catalogSql as postgres } from "../../../../src/adapters/postgres/source/catalog.ts";
import { readCatalog } from "../../../../src/adapters/sql/source/catalog.ts";
import type { Catalog, CatalogTable } from "../../../../src/core/setup/catalog.ts";
import type { Place } from "../../../support/databases/fresh-database.ts";
import { aDatabase } from "../ledger/ledger-database.ts";

const SQL = { postgres, mysql } as const;

export const catalogOf = ({ kind, url }: Pick<Place, "kind" | "url">): Promise<Catalog> =>
  readCatalog(aDatabase(url, kind), SQL[kind]);

export async function tableOf(place: Pick<Place, "kind" | "url">, name: string): Promise<CatalogTable> {
  const found = (await catalogOf(place)).tables.find((table) => table.name === name);
  if (!found) throw new Error(`the catalog has no ${name}`);
  return found;
}
