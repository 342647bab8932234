import { type SensitiveTableName, sensitiveTables } from "../adapters/sql/source/sensitive-tables.ts";
import type { Config } from "../config/model/config.ts";
import type { TenantSource } from "../ports/tenant-source.ts";
import { applicationName, type Databases, TIMEOUTS, VIEW_CONNECTIONS } from "./databases.ts";

export async function tenantSource(config: Config, databases: Databases): Promise<TenantSource> {
  const { name, source } = config;
  const { dialect, url } = source.url;
  const options = {
    ...source,
    url,
    applicationName: applicationName(name),
    timeouts: TIMEOUTS,
    sensitiveTables: async () => sensitiveTables(await namedSecrets(config, databases)),
  };
  switch (dialect) {
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

/** The tables of tokens and ledger that may be in the source's database. The source's query must not read them. */
const namedSecrets = (
  { source, tokens, ledger }: Config,
  databases: Databases,
): Promise<SensitiveTableName[]> =>
  Promise.all(
    [...tokens.filter((store) => store.store === "table"), ledger]
      .filter(({ url }) => url.dialect === source.url.dialect)
      .map(async (at) => ({ database: await databases.open(at.url, VIEW_CONNECTIONS), at })),
  );
