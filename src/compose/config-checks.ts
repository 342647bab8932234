import { tlsSettings } from "../adapters/sql/connection/tls.ts";
import type { Config } from "../config/config.ts";
import { describeSource } from "../config/descriptions.ts";
import { digestSeed } from "../core/group/desired-group.ts";
import { columnsOf } from "../core/group/group-rules.ts";
import { tableBefore } from "../engine/plan/make-plan.ts";
import { Databases, openLedgerView, VIEW_TIMEOUTS } from "./databases.ts";
import type { Host } from "./host.ts";
import { changeFeed, tenantSource } from "./tenant-source.ts";

/** Throws CONFIG_TLS if no connection to one of the config's databases could be opened, such as for a missing file. */
export function verifyTls({ source, ledger, tokens }: Config): void {
  const tables = tokens.flatMap((store) => (store.store === "table" ? store.url : []));
  for (const url of [source.url, source.changes.url, ledger.url, ...tables])
    if (url) tlsSettings(url.dialect, url.url);
}

/**
 * Looks up whether the source has the columns that the config names, and takes its SQL. Reads no row. Rejects with CONFIG_… if
 * the config is wrong, and with any other error if that can't be told.
 */
export async function verifyColumns(config: Config, { stop }: Host): Promise<void> {
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
    if (column === undefined) return;
    const feed = await changeFeed(config, column);
    const reader = await feed.open(stop, before);
    await reader.close();
  } finally {
    await databases.close();
  }
}
