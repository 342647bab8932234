import { SyncError } from "../../core/failure/sync-error.ts";
import {
  type FoundTokenTable,
  leadsElsewhere,
  shownTable,
  type TokenTable,
} from "../../core/tokens/destination.ts";
import type { GroupReads, TokenReads } from "../../ports/ledger/groups.ts";
import type { KnownService } from "../../ports/ledger/scope.ts";
import type { Warning } from "../../ports/observer.ts";
import type { TokenStore } from "../../ports/token-store.ts";
import type { TokenWriting } from "./retry-batch.ts";

/** Whether two configs name the same token destinations. Each is told by one line of words, and the lines are sorted. */
export const areSameDestinations = (former: readonly string[], present: readonly string[]): boolean =>
  former.length === present.length && former.every((line, index) => line === present[index]);

/**
 * If the config names other token destinations than the last run's, or if one of them has lost all its tokens, warns, and
 * clears the ledger's record of complete destinations. The record is cleared before any token is written, because an
 * interrupted run must not leave it set.
 */
export async function detectIncompleteDestinations(
  present: readonly string[],
  run: Pick<TokenWriting, "ledger" | "lease" | "tokens" | "observe">,
): Promise<void> {
  const { ledger, lease, tokens, observe } = run;
  // A run that stores no tokens moves none.
  if (tokens.destinations.length === 0) return;
  const former = await ledger.tokenDestinations();
  if (former === null) return;
  const warning = areSameDestinations(former, present)
    ? await lostWarning(run)
    : movedWarning(former, present);
  if (warning === undefined) return;
  await ledger.write(lease, (transaction) => transaction.recordTokenDestinations(null));
  observe(warning);
}

function movedWarning(former: readonly string[], present: readonly string[]): Warning {
  const shown = (all: readonly string[]): string => all.join(", and to ");
  return {
    kind: "warning",
    code: "TOKENS_MOVED",
    message: `tokens went to ${shown(former)}; from now on they go to ${shown(present)}`,
    hint: "a sync looks for every token there, and writes those that are missing; tokens in a place that the config no longer names stay there, and are yours to remove",
  };
}

/** How many groups to ask about a token that an empty destination should have. */
const SAMPLE = 100;

/**
 * Undefined if each destination has some token, or if none should be there: the ledger knows of no group at rest, or it knows
 * already that these tokens are missing, and each is tried again with growing delays.
 */
async function lostWarning({
  ledger,
  tokens,
}: Pick<TokenWriting, "ledger" | "tokens">): Promise<Warning | undefined> {
  const some = await ledger.vouchedTokens({ limit: SAMPLE, of: "all" });
  const expected = some.filter(({ failure }) => failure === null).map(({ user_group_id }) => user_group_id);
  if (expected.length === 0) return undefined;
  const empty: string[] = [];
  for (const destination of tokens.destinations)
    if (!(await destination.holdsAny(expected))) empty.push(destination.title);
  if (empty.length === 0) return undefined;
  return {
    kind: "warning",
    code: "TOKENS_LOST",
    message: `${empty.join(" and ")} ${empty.length === 1 ? "has" : "have"} lost all tokens of the groups that the ledger knows`,
    hint: "a sync writes each token there again: from another store that has it, else by a GET",
  };
}

interface TablePorts {
  readonly ledger: Pick<TokenReads, "tokenTables">;
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
  const known = await ledger.tokenTables();
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
  if (tables.length === 0 || JSON.stringify(tables) === JSON.stringify(await ledger.tokenTables())) return;
  await ledger.write(lease, (transaction) => transaction.recordTokenTables(tables));
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

interface LossPorts {
  readonly ledger: Pick<GroupReads, "existingCount">;
  readonly tokens: Pick<TokenStore, "destinations">;
}

/**
 * Whether tokens are stored although the ledger is empty: the ledger was lost, or the config names another ledger. A first
 * sync that was cut short doesn't count: it may have stored tokens, but its intents are in the ledger.
 */
async function isLost({ ledger, tokens }: LossPorts, known: KnownService): Promise<boolean> {
  if (known.baseUrl !== null || (await ledger.existingCount({})) > 0) return false;
  for (const destination of tokens.destinations) if (await destination.holdsAny()) return true;
  return false;
}

const MESSAGE = "the ledger is empty, but the token store already holds tokens";
const CHECK = "if a ledger was there before, check ledger.url, ledger.table_prefix and name";

/** Warns before a sync, which then adopts the groups of these tokens. */
export async function lostLedgerWarnings(ports: LossPorts, known: KnownService): Promise<readonly Warning[]> {
  if (!(await isLost(ports, known))) return [];
  const hint = `a sync adopts the groups that exist, and creates none of them anew; ${CHECK}`;
  return [{ kind: "warning", code: "LEDGER_EMPTY", message: MESSAGE, hint }];
}

/** Rejects with LEDGER_EMPTY, because a rotation can't know which groups these tokens belong to. */
export async function insistOnLedger(ports: LossPorts, known: KnownService): Promise<void> {
  if (!(await isLost(ports, known))) return;
  throw new SyncError("LEDGER_EMPTY", `${MESSAGE}: no groups to rotate are known`, {
    hint: `${CHECK}; if it is lost, run \`groupsync sync\` first: it adopts the groups`,
  });
}
