import { SyncError } from "../core/errors.ts";
import { type FoundTokenTable, leadsElsewhere, shownTable, type TokenTable } from "../core/token-tables.ts";
import type { LedgerView } from "../ports/ledger.ts";
import type { TokenStore } from "../ports/token-store.ts";
import type { Run } from "./run.ts";

interface Ports {
  readonly ledger: Pick<LedgerView, "tokenTables">;
  readonly tokens: Pick<TokenStore, "destinations">;
}

/** The tables that tokens go to now. Rejects as their databases do. */
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
 * Rejects with CONFIG_TABLE_MOVED where the same words in the config lead to another table than in the runs before: to one
 * in a schema that has come before it in the user's path, or of another owner.
 */
export async function insistOnTables({ ledger, tokens }: Ports): Promise<void> {
  const tables = await tokenTables(tokens);
  if (tables.length === 0) return;
  const known = await ledger.tokenTables();
  for (const now of tables) {
    const before = known.find(({ written }) => written === now.written);
    if (before && leadsElsewhere(before, now)) throw moved(before, now);
  }
}

/** Remembers them for the next runs. They are prepared. */
export async function recordTables({ ledger, tokens, lease }: Run): Promise<void> {
  const tables = (await tokenTables(tokens)).map(
    ({ written, schema, table, owner }): TokenTable => ({ written, schema, table, owner }),
  );
  if (tables.length === 0 || JSON.stringify(tables) === JSON.stringify(await ledger.tokenTables())) return;
  await ledger.write(lease, (transaction) => transaction.recordTokenTables(tables));
}

function moved(before: TokenTable, now: FoundTokenTable): SyncError {
  const isElsewhere = before.schema !== now.schema || before.table !== now.table;
  const remedy = isElsewhere
    ? `name the schema of the one that is meant in tokens.table, like ${now.schema}.${now.table}: the next sync then moves the tokens there`
    : `if ${now.owner} is meant to have the tokens, write tokens.owner: ${now.owner} in the config; otherwise give the table back to ${before.owner}`;
  return new SyncError(
    "CONFIG_TABLE_MOVED",
    `tokens went to ${shownTable(before)}, and the same config now leads to ${shownTable(now)}`,
    { hint: `find out who did that before anything else; nothing was sent or written. ${remedy}` },
  );
}
