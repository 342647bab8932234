import { MysqlCatalogReader } from "../../../../src/adapters/mysql/source/catalog-reader.ts";
import { PostgresCatalogReader } from "../../../../src/adapters/postgres/source/catalog-reader.ts";
import type { Catalog, CatalogTable } from "../../../../src/core/proposal/catalog.ts";
import type { Place } from "../../../support/databases/fresh-database.ts";
import { aDatabase } from "../ledger/ledger-database.ts";

const READERS = { postgres: PostgresCatalogReader, mysql: MysqlCatalogReader } as const;

export const catalogOf = ({ kind, url }: Pick<Place, "kind" | "url">): Promise<Catalog> =>
  new READERS[kind](aDatabase(url, kind)).read();

export async function tableOf(place: Pick<Place, "kind" | "url">, name: string): Promise<CatalogTable> {
  const found = (await catalogOf(place)).tables.find((table) => table.name === name);
  if (!found) throw new Error(`the catalog has no ${name}`);
  return found;
}
