import { sqlLedgerView } from "../adapters/sql/ledger/ledger.ts";
import type { Config } from "../config/config.ts";
import type { LedgerView } from "../ports/ledger/ledger.ts";
import { Databases, VIEW_TIMEOUTS } from "./databases.ts";
import type { Host } from "./host.ts";
import type { Opened } from "./opened.ts";

/** What `status` and the status page need. Contacts nothing before its first use; the caller closes it. */
export async function composeLedgerView(config: Config, { stop }: Host): Promise<Opened<LedgerView>> {
  const databases = new Databases(config.name, VIEW_TIMEOUTS, stop);
  return { value: await openLedgerView(config, databases), close: () => databases.close() };
}

export const openLedgerView = async ({ ledger, name }: Config, databases: Databases): Promise<LedgerView> =>
  sqlLedgerView(await databases.open(ledger.url), ledger, name);
