import { readFileSync } from "node:fs";
import { MYSQL } from "../../src/adapters/mysql/source/tenant-source.ts";
import { POSTGRES } from "../../src/adapters/postgres/source/tenant-source.ts";
import { openReader } from "../../src/adapters/sql/source/open-reader.ts";
import type { TenantQuery } from "../../src/adapters/sql/source/tenant-query.ts";
import { TIMEOUTS } from "../../src/compose/databases.ts";
import { loadConfig } from "../../src/config/load.ts";
import { digestSeed } from "../../src/core/group/desired-group.ts";
import { columnsOf } from "../../src/core/group/group-rules.ts";
import type { Bench } from "./benchmark.ts";
import { measured } from "./program.ts";

/**
 * Makes tenants whose groups and tokens are recorded: a sync makes the first `made` groups, and SQL records the others
 * without a call for each. `config` are the flags that name the config file, `env` the variables that a sync needs.
 */
export async function createSyncedCustomers(
  { groupsync, database }: Pick<Bench, "groupsync" | "database">,
  config: readonly string[],
  { tenants, made }: { readonly tenants: number; readonly made: number },
  env?: Readonly<Record<string, string>>,
): Promise<void> {
  await database.createCustomers(made);
  await measured(() => groupsync([...config, "sync", "--json"], env));
  await database.addCustomers(made, tenants);
  await database.fillLedger(made, await tenantQuery(config[1] ?? ""));
  await database.tidy();
}

/** The SQL by which groupsync reads the customers. */
async function tenantQuery(configPath: string): Promise<TenantQuery> {
  const { source, group } = loadConfig(configPath, {
    env: {},
    readFile: (path) => readFileSync(path, "utf8"),
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
