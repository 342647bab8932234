import { SyncError } from "../../core/failure/sync-error.ts";
import type { GroupReads } from "../../ports/ledger/groups.ts";
import type { KnownService } from "../../ports/ledger/scope.ts";
import type { Warning } from "../../ports/observer.ts";
import type { TokenStore } from "../../ports/token-store.ts";

interface LossPorts {
  readonly ledger: Pick<GroupReads, "sums">;
  readonly tokens: Pick<TokenStore, "destinations">;
}

/**
 * Whether tokens are stored although the ledger is empty: the ledger was lost, or the config names another ledger. A first
 * sync that was cut short doesn't count: it may have stored tokens, but its intents are in the ledger.
 */
async function isLost({ ledger, tokens }: LossPorts, known: KnownService): Promise<boolean> {
  if (known.baseUrl !== null || (await ledger.sums({ kind: "existing" })).counts.total > 0) return false;
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
