import { SyncError } from "../../core/failure/sync-error.ts";
import type { LedgerView } from "../../ports/ledger/ledger.ts";
import type { KnownService } from "../../ports/ledger/scope.ts";
import type { TokenStore } from "../../ports/token-store.ts";
import { ServiceIdentity } from "../service/service-identity.ts";
import { insistOnOwnership } from "../tokens/destination-owners.ts";
import { insistOnTables } from "../tokens/moved-destinations.ts";

export interface ConditionInputs {
  readonly ledger: Pick<LedgerView, "inspect" | "id" | "tokenTables">;
  readonly tokens: Pick<TokenStore, "inspect" | "destinations">;
  readonly service: KnownService;
  readonly name: string;
  readonly baseUrl: string;
}

/** What a sync insists on before it changes anything. Throws or rejects with the error that the sync would end with. */
export type SyncCondition = () => unknown;

/** The ledger's groups live at the service that the config names. */
export const sameService =
  ({ service, baseUrl }: Pick<ConditionInputs, "service" | "baseUrl">): SyncCondition =>
  () =>
    new ServiceIdentity(service, baseUrl);

/** Those that only the ledger decides. */
export const ledgerConditions = (
  inputs: Pick<ConditionInputs, "ledger" | "service" | "baseUrl">,
): readonly SyncCondition[] => [() => inputs.ledger.inspect(), sameService(inputs)];

/** The tokens are where they were, and belong to no other config. */
export const destinationConditions = ({
  ledger,
  tokens,
  service,
  name,
  baseUrl,
}: ConditionInputs): readonly SyncCondition[] => [
  () => insistOnTables({ ledger, tokens }),
  // If base_url has changed, `sameService` has reported it; an ownership error would repeat it.
  () =>
    (service.baseUrl ?? baseUrl) === baseUrl &&
    insistOnOwnership({ ledger, tokens }, { name, baseUrl }, service),
];

/** Those that concern the tokens. They need the ledger too. */
export const tokenConditions = (inputs: ConditionInputs): readonly SyncCondition[] => [
  ...destinationConditions(inputs),
  () => inputs.tokens.inspect(),
];

/** The errors of all conditions that don't hold, in their order. */
export async function brokenConditions(conditions: readonly SyncCondition[]): Promise<readonly SyncError[]> {
  const failures: SyncError[] = [];
  for (const condition of conditions) {
    try {
      await condition();
    } catch (error) {
      if (!(error instanceof SyncError)) throw error;
      // Several conditions may fail because of one table. An outdated ledger is no reason: a sync migrates it.
      const isKnown = failures.some(({ message }) => message === error.message);
      if (!isKnown && error.code !== "LEDGER_OUTDATED") failures.push(error);
    }
  }
  return failures;
}
