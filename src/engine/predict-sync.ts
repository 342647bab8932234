import type { SyncError } from "../core/failure/sync-error.ts";
import type { LedgerView } from "../ports/ledger/ledger.ts";
import type { Warning } from "../ports/observer.ts";
import type { TokenStore } from "../ports/token-store.ts";
import {
  brokenConditions,
  type ConditionInputs,
  ledgerConditions,
  tokenConditions,
} from "./check/sync-conditions.ts";
import type { Plan } from "./plan/plan.ts";
import type { RefreshStart } from "./refresh/refresh-start.ts";
import { lostLedgerWarnings } from "./tokens/moved-destinations.ts";
import { untrackedWarnings } from "./verify/verify-tokens.ts";

export interface PredictionInputs extends ConditionInputs {
  readonly ledger: Pick<LedgerView, "inspect" | "id" | "groups" | "existingCount" | "tokenTables">;
  readonly tokens: Pick<TokenStore, "inspect" | "destinations" | "holdsAny">;
}

/**
 * What a sync would warn of, as far as that is known now. `looksAtAll` is true if the sync would verify every token, because
 * the token destinations may lack some tokens. `refresh` is how its refresh would start.
 */
export const predictedWarnings = async (
  plan: Plan,
  { ledger, tokens, service }: Pick<PredictionInputs, "ledger" | "tokens" | "service">,
  { looksAtAll, refresh }: { readonly looksAtAll: boolean; readonly refresh: RefreshStart | null },
): Promise<readonly Warning[]> => [
  ...plan.warnings,
  ...(await lostLedgerWarnings({ ledger, tokens }, service)),
  ...(looksAtAll ? await untrackedWarnings(plan, { ledger, tokens }) : []),
  ...(refresh?.unsafe ? [refresh.unsafe] : []),
];

/** Every known reason why a sync would fail now, in the order in which the sync would meet them. Sends no request. */
export const predictedFailures = (inputs: PredictionInputs): Promise<readonly SyncError[]> =>
  brokenConditions([...ledgerConditions(inputs), ...tokenConditions(inputs)]);
