import { readFileSync } from "node:fs";
import { MYSQL } from "../../src/adapters/mysql/source/tenant-source.ts";
import { POSTGRES } from "../../src/adapters/postgres/source/tenant-source.ts";
import { openReader } from "../../src/adapters/sql/source/open-reader.ts";
import type { TenantQuery } from "../../src/adapters/sql/source/tenant-query.ts";
import { TIMEOUTS } from "../../src/compose/databases.ts";
import { loadConfig } from "../../src/config/load.ts";
import { digestSeed } from "../../src/core/group/desired-group.ts";
import { columnsOf } from "../../src/core/group/group-rules.ts";
import type { ConfigFile } from "./config.ts";
import type { BenchDatabase } from "./databases.ts";
import { measuredSync, type Service } from "./service.ts";

/**
 * Makes customers who are in sync: a sync makes the groups of the first `made`, and SQL records those of the others,
 * because a call for each would take an hour for ten million.
 */
export async function createSyncedCustomers(
  database: BenchDatabase,
  service: Pick<Service, "trust">,
  config: ConfigFile,
  { tenants, made }: { readonly tenants: number; readonly made: number },
): Promise<void> {
  await database.createCustomers(made);
  await measuredSync(service, config, made);
  await database.addCustomers(made, tenants);
  await database.fillLedger(made, await tenantQuery(config));
  await database.tidy();
}

/** The SQL by which groupsync reads the customers. */
async function tenantQuery({ path }: ConfigFile): Promise<TenantQuery> {
  const { source, group } = loadConfig(path, {
    env: {},
    readFile: (file) => readFileSync(file, "utf8"),
  });
  const stop = new AbortController().signal;
  const options = { ...source, url: source.url.url, applicationName: "bench", timeouts: TIMEOUTS };
  const asked = { columns: columnsOf(group), seed: digestSeed(group), stop };
  const { session, query } =
    source.url.dialect === "postgres"
      ? await openReader(POSTGRES, options, asked, null)
      : await openReader(MYSQL, options, asked, null);
  await session.close();
  return query;
}
