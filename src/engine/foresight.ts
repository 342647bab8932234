import { SyncError } from "../core/errors.ts";
import type { KnownService, LedgerView } from "../ports/ledger.ts";
import type { Warning } from "../ports/observer.ts";
import type { TokenStore } from "../ports/token-store.ts";
import { lostLedgerWarnings } from "./lost-ledger.ts";
import type { Plan } from "./plan.ts";
import { ServiceIdentity } from "./service-identity.ts";
import { insistOnOwnership } from "./token-owners.ts";
import { insistOnTables } from "./token-tables.ts";
import { untrackedWarnings } from "./untracked.ts";

export interface Foreseeable {
  readonly ledger: Pick<LedgerView, "inspect" | "id" | "groups" | "existingCount" | "tokenTables">;
  readonly tokens: Pick<TokenStore, "inspect" | "destinations" | "holdsAny">;
  readonly service: KnownService;
  readonly name: string;
  readonly baseUrl: string;
}

/**
 * What a sync that doesn't fail would warn of before it changes anything. `looksAtAll`: it would look at every token, as it
 * does where the places that they go to may not have all of them.
 */
export const foreseenWarnings = async (
  plan: Plan,
  { ledger, tokens, service }: Pick<Foreseeable, "ledger" | "tokens" | "service">,
  { looksAtAll }: { readonly looksAtAll: boolean },
): Promise<readonly Warning[]> => [
  ...plan.warnings,
  ...(await lostLedgerWarnings({ ledger, tokens }, service)),
  ...(looksAtAll ? await untrackedWarnings(plan, { ledger, tokens }) : []),
];

/** Every reason known without a request for which a sync would fail now, in the order in which it would meet them. */
export async function foreseenFailures({
  ledger,
  tokens,
  service,
  name,
  baseUrl,
}: Foreseeable): Promise<readonly SyncError[]> {
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
      // Several steps meet one table, and a sync migrates the ledger first.
      const isTold = failures.some(({ message }) => message === error.message);
      if (!isTold && error.code !== "LEDGER_OUTDATED") failures.push(error);
    }
  }
  return failures;
}
