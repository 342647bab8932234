import { SyncError } from "../core/failure/sync-error.ts";
import type { LedgerView } from "../ports/ledger/ledger.ts";
import type { KnownService } from "../ports/ledger/service.ts";
import type { Warning } from "../ports/observer.ts";
import type { TokenStore } from "../ports/token-store.ts";
import type { Plan } from "./plan/plan.ts";
import { ServiceIdentity } from "./service/service-identity.ts";
import { insistOnOwnership } from "./tokens/destination-owners.ts";
import { lostLedgerWarnings } from "./tokens/lost-ledger.ts";
import { insistOnTables } from "./tokens/token-tables.ts";
import { untrackedWarnings } from "./verify/untracked-tokens.ts";

export interface PredictionInputs {
  readonly ledger: Pick<LedgerView, "inspect" | "id" | "groups" | "existingCount" | "tokenTables">;
  readonly tokens: Pick<TokenStore, "inspect" | "destinations" | "holdsAny">;
  readonly service: KnownService;
  readonly name: string;
  readonly baseUrl: string;
}

/**
 * The warnings that a sync would give before it changes anything. `looksAtAll` is true if the sync would verify every token,
 * because the token destinations may lack some tokens.
 */
export const predictedWarnings = async (
  plan: Plan,
  { ledger, tokens, service }: Pick<PredictionInputs, "ledger" | "tokens" | "service">,
  { looksAtAll }: { readonly looksAtAll: boolean },
): Promise<readonly Warning[]> => [
  ...plan.warnings,
  ...(await lostLedgerWarnings({ ledger, tokens }, service)),
  ...(looksAtAll ? await untrackedWarnings(plan, { ledger, tokens }) : []),
];

/** Every known reason why a sync would fail now, in the order in which the sync would meet them. Sends no request. */
export async function predictedFailures({
  ledger,
  tokens,
  service,
  name,
  baseUrl,
}: PredictionInputs): Promise<readonly SyncError[]> {
  const steps: readonly (() => unknown)[] = [
    () => ledger.inspect(),
    () => new ServiceIdentity(service, baseUrl),
    () => insistOnTables({ ledger, tokens }),
    // If base_url has changed, ServiceIdentity has reported it; an ownership error would repeat it.
    () =>
      (service.baseUrl ?? baseUrl) === baseUrl &&
      insistOnOwnership({ ledger, tokens }, { name, baseUrl }, service),
    () => tokens.inspect(),
  ];
  const failures: SyncError[] = [];
  for (const step of steps) {
    try {
      await step();
    } catch (error) {
      if (!(error instanceof SyncError)) throw error;
      // Several steps may fail because of one table. An outdated ledger is no reason: a sync migrates it.
      const isKnown = failures.some(({ message }) => message === error.message);
      if (!isKnown && error.code !== "LEDGER_OUTDATED") failures.push(error);
    }
  }
  return failures;
}
