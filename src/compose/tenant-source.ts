import { sqlChangeFeed } from "../adapters/sql/source/change-feed.ts";
import { type SensitiveTableName, sensitiveTables } from "../adapters/sql/source/sensitive-tables.ts";
import type { SourceOptions } from "../adapters/sql/source/source-dialect.ts";
import { sqlTenantSource } from "../adapters/sql/source/tenant-source.ts";
import type { Config } from "../config/config.ts";
import { columnsOf } from "../core/group/group-rules.ts";
import type { ChangeChannel, ChangeFeed } from "../ports/change-feed.ts";
import type { TenantSource } from "../ports/tenant-source.ts";
import { adapterFor, applicationName, type Databases, TIMEOUTS } from "./databases.ts";

/** What the source and its change feed are read by. */
const sourceOptions = ({ name, source }: Config): SourceOptions => ({
  url: source.url.url,
  applicationName: applicationName(name),
  timeouts: TIMEOUTS,
  table: source.table,
  query: source.query,
  where: source.where,
  removedWhen: source.removed_when,
  readyWhen: source.ready_when,
  rowSecurity: source.row_security,
});

export async function tenantSource(config: Config, databases: Databases): Promise<TenantSource> {
  const { source } = await adapterFor(config.source.url.dialect);
  return sqlTenantSource(source, {
    ...sourceOptions(config),
    sensitiveTables: async () => sensitiveTables(await namedSecrets(config, databases)),
  });
}

/** The tables of tokens and ledger that may be in the source's database. The source's query must not read them. */
async function namedSecrets(
  { source, tokens, ledger }: Config,
  databases: Databases,
): Promise<SensitiveTableName[]> {
  const tokenTables = tokens.flatMap((store) =>
    store.store === "table" ? { ...store, tokenColumn: store.token_column } : [],
  );
  return Promise.all(
    [...tokenTables, ledger]
      .filter(({ url }) => url.dialect === source.url.dialect)
      .map(async (at) => ({ database: await databases.open(at.url), at })),
  );
}

/** In milliseconds: how long a channel may take to begin to listen, and a notification to arrive. */
const CHANNEL_LIMIT = 10_000;

export async function changeFeed(config: Config, changeColumn: string): Promise<ChangeFeed> {
  const { source } = await adapterFor(config.source.url.dialect);
  return sqlChangeFeed(source, {
    ...sourceOptions(config),
    changeColumn,
    columns: columnsOf(config.group),
  });
}

export async function changeChannel({ name, source }: Config, channel: string): Promise<ChangeChannel> {
  const { postgresChangeChannel } = await import("../adapters/postgres/source/change-channel.ts");
  return postgresChangeChannel({
    url: (source.changes.url ?? source.url).url,
    applicationName: applicationName(name),
    channel,
    limitMs: CHANNEL_LIMIT,
  });
}
