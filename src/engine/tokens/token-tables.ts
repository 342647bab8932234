import { SyncError } from "../../core/failure/sync-error.ts";
import {
  type FoundTokenTable,
  leadsElsewhere,
  shownTable,
  type TokenTable,
} from "../../core/tokens/destination.ts";
import type { ScopeReads } from "../../ports/ledger/scope.ts";
import type { TokenStore } from "../../ports/token-store.ts";
import type { TokenWriting } from "./token-writing.ts";

interface TablePorts {
  readonly ledger: ScopeReads;
  readonly tokens: Pick<TokenStore, "destinations">;
}

/** The tables that the config's token destinations lead to now. Rejects as their databases do. */
export async function tokenTables({
  destinations,
}: Pick<TokenStore, "destinations">): Promise<FoundTokenTable[]> {
  const tables: FoundTokenTable[] = [];
  for (const destination of destinations) {
    const table = await destination.table?.();
    if (table) tables.push(table);
  }
  return tables;
}

/**
 * Rejects with CONFIG_TABLE_MOVED if the same table name in the config leads to another table than in earlier runs: to a
 * table in another schema of the user's search path, or to a table of another owner.
 */
export async function insistOnTables({ ledger, tokens }: TablePorts): Promise<void> {
  const tables = await tokenTables(tokens);
  if (tables.length === 0) return;
  const known = (await ledger.scope()).tokens.tables;
  for (const now of tables) {
    const before = known.find(({ written }) => written === now.written);
    if (before && leadsElsewhere(before, now)) throw moved(before, now);
  }
}

/** Records the tables for the next runs. The stores have to be prepared. */
export async function recordTables({ ledger, tokens, lease }: TokenWriting): Promise<void> {
  const tables = (await tokenTables(tokens)).map(
    ({ written, schema, table, owner }): TokenTable => ({ written, schema, table, owner }),
  );
  if (tables.length === 0) return;
  const known = (await ledger.scope()).tokens.tables;
  if (JSON.stringify(tables) === JSON.stringify(known)) return;
  await ledger.write(lease, (transaction) => transaction.recordScope({ tokens: { tables } }));
}

function moved(before: TokenTable, now: FoundTokenTable): SyncError {
  const isElsewhere = before.schema !== now.schema || before.table !== now.table;
  const remedy = isElsewhere
    ? `name the schema of the intended table in tokens.table, like ${now.schema}.${now.table}: the next sync then moves the tokens there`
    : `if ${now.owner} should own the tokens, write tokens.owner: ${now.owner} in the config; otherwise give the table back to ${before.owner}`;
  return new SyncError(
    "CONFIG_TABLE_MOVED",
    `tokens went to ${shownTable(before)}, and the same config now leads to ${shownTable(now)}`,
    { hint: `find out who changed that first; nothing was sent or written. ${remedy}` },
  );
}
