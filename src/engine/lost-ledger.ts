import { SyncError } from "../core/errors.ts";
import type { KnownService, LedgerView } from "../ports/ledger.ts";
import type { Warning } from "../ports/observer.ts";
import type { TokenStore } from "../ports/token-store.ts";

interface Ports {
  readonly ledger: Pick<LedgerView, "existingCount">;
  readonly tokens: Pick<TokenStore, "holdsAny">;
}

/**
 * Tokens without a ledger: it was lost, or the config names another one. A first sync that was cut short may have stored
 * tokens, too, but then its intents are in the ledger: the service's address is recorded only with the first result.
 */
const isLost = async ({ ledger, tokens }: Ports, known: KnownService): Promise<boolean> =>
  known.baseUrl === null && (await ledger.existingCount({})) === 0 && (await tokens.holdsAny());

const MESSAGE = "the ledger is empty, but the token store already holds tokens";
const CHECK = "if a ledger was there before, check ledger.url, ledger.table_prefix and name";

/** A sync adopts the groups of these tokens: what it warns of before it does so. */
export async function lostLedgerWarnings(ports: Ports, known: KnownService): Promise<readonly Warning[]> {
  if (!(await isLost(ports, known))) return [];
  const hint = `a sync adopts the groups that exist, and creates none of them anew; ${CHECK}`;
  return [{ kind: "warning", code: "LEDGER_EMPTY", message: MESSAGE, hint }];
}

/** A rotation doesn't know whose tokens these are. Rejects with LEDGER_EMPTY. */
export async function insistOnLedger(ports: Ports, known: KnownService): Promise<void> {
  if (!(await isLost(ports, known))) return;
  throw new SyncError("LEDGER_EMPTY", `${MESSAGE}: nobody knows which groups to rotate`, {
    hint: `${CHECK}; if it is lost, run \`groupsync sync\` first: it adopts the groups`,
  });
}
