import { type SensitiveTableName, sensitiveTables } from "../adapters/sql/source/sensitive-tables.ts";
import type { Config } from "../config/config.ts";
import { describeSource } from "../config/database-description.ts";
import { digestSeed } from "../core/group/desired-group.ts";
import { columnsOf } from "../core/group/group-rules.ts";
import { tableBefore } from "../engine/plan/make-plan.ts";
import type { TenantSource } from "../ports/tenant-source.ts";
import { changeFeed } from "./changes.ts";
import { Databases, openLedgerView, sourceOptions, VIEW_CONNECTIONS, VIEW_TIMEOUTS } from "./databases.ts";
import type { Host } from "./host.ts";

export async function tenantSource(config: Config, databases: Databases): Promise<TenantSource> {
  const options = {
    ...sourceOptions(config),
    sensitiveTables: async () => sensitiveTables(await namedSecrets(config, databases)),
  };
  switch (config.source.url.dialect) {
    case "postgres": {
      const { postgresTenantSource } = await import("../adapters/postgres/source/tenant-source.ts");
      return postgresTenantSource(options);
    }
    case "mysql": {
      const { mysqlTenantSource } = await import("../adapters/mysql/source/tenant-source.ts");
      return mysqlTenantSource(options);
    }
  }
}

/**
 * Looks up whether the source has the columns that the config names, and takes its SQL. Reads no row. Rejects with CONFIG_… if
 * the config is wrong, and with any other error if that can't be told.
 */
export async function insistOnColumns(config: Config, { stop }: Host): Promise<void> {
  const { name, source, group } = config;
  const { column } = source.changes;
  const databases = new Databases(name, VIEW_TIMEOUTS, stop);
  try {
    const ledger = await openLedgerView(config, databases);
    const before = await tableBefore(ledger, describeSource(source, group.id));
    const columns = [...new Set([...columnsOf(group), ...(column === undefined ? [] : [column])])];
    const tenants = await tenantSource(config, databases);
    const lookups = await tenants.lookups(columns, digestSeed(group), stop, before);
    await lookups.close();
    if (column !== undefined) await (await (await changeFeed(config, column)).open(stop, before)).close();
  } finally {
    await databases.close();
  }
}

/** The tables of tokens and ledger that may be in the source's database. The source's query must not read them. */
const namedSecrets = (
  { source, tokens, ledger }: Config,
  databases: Databases,
): Promise<SensitiveTableName[]> => {
  const tables = tokens.flatMap((store) =>
    store.store === "table" ? { ...store, tokenColumn: store.token_column } : [],
  );
  return Promise.all(
    [...tables, ledger]
      .filter(({ url }) => url.dialect === source.url.dialect)
      .map(async (at) => ({ database: await databases.open(at.url, VIEW_CONNECTIONS), at })),
  );
};
