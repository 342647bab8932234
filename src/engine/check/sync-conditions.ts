import { SyncError } from "../../core/failure/sync-error.ts";
import type { LedgerView } from "../../ports/ledger/ledger.ts";
import type { KnownService } from "../../ports/ledger/scope.ts";
import type { TokenStore } from "../../ports/token-store.ts";
import { ServiceIdentity } from "../service/service-identity.ts";
import { insistOnOwnership } from "../tokens/destination-owners.ts";
import { insistOnTables } from "../tokens/token-tables.ts";

export interface SyncConditions {
  readonly ledger: Pick<LedgerView, "inspect" | "scope">;
  readonly tokens: Pick<TokenStore, "inspect" | "destinations">;
  readonly service: KnownService;
  readonly name: string;
  readonly baseUrl: string;
}

/** Every known reason why a sync would fail now, in the order in which the sync would meet them. Sends no request. */
export const predictedFailures = (inputs: SyncConditions): Promise<readonly SyncError[]> =>
  broken([
    () => inputs.ledger.inspect(),
    () => new ServiceIdentity(inputs.service, inputs.baseUrl),
    ...destinationConditions(inputs),
    () => inputs.tokens.inspect(),
  ]);

/** Why a sync would fail because tokens have moved, or belong to another config. */
export const destinationFailures = (inputs: SyncConditions): Promise<readonly SyncError[]> =>
  broken(destinationConditions(inputs));

/** What a sync insists on before it changes anything. Throws or rejects with the error that the sync would end with. */
type Condition = () => unknown;

const destinationConditions = ({
  ledger,
  tokens,
  service,
  name,
  baseUrl,
}: SyncConditions): readonly Condition[] => [
  () => insistOnTables({ ledger, tokens }),
  // If base_url has changed, `ServiceIdentity` has reported it; an ownership error would repeat it.
  () =>
    (service.baseUrl ?? baseUrl) === baseUrl &&
    insistOnOwnership({ ledger, tokens }, { name, baseUrl }, service),
];

/** The errors of all conditions that don't hold, in their order. */
async function broken(conditions: readonly Condition[]): Promise<readonly SyncError[]> {
  const failures: SyncError[] = [];
  for (const condition of conditions) {
    try {
      await condition();
    } catch (error) {
      if (!(error instanceof SyncError)) throw error;
      // Several conditions may fail because of one table.
      if (!failures.some(({ message }) => message === error.message)) failures.push(error);
    }
  }
  return failures;
}
