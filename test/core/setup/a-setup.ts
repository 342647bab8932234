import type { CatalogTable } from "../../../src/core/setup/catalog.ts";
import { proposals, type Wishes } from "../../../src/core/setup/proposal.ts";
import type { Setup } from "../../../src/core/setup/setup.ts";

/** The setup for the best proposal. `others` are the other tables of the database. */
export function aSetup(
  table: CatalogTable,
  given: Partial<Setup> = {},
  wishes: Wishes = {},
  others: readonly CatalogTable[] = [],
): Setup {
  const [proposal] = proposals([table, ...others], wishes).fit;
  if (!proposal) throw new Error(`${table.name} has no tenants`);
  return {
    dialect: "postgres",
    database: "shop",
    proposal,
    baseUrl: "https://dashboards.example.com",
    place: "shell",
    accountHost: undefined,
    ...given,
  };
}
