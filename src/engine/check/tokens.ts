import { SyncError } from "../../core/failure/sync-error.ts";
import { asFinding, type Finding, warning } from "../../core/report/finding.ts";
import type { LedgerView } from "../../ports/ledger/ledger.ts";
import type { KnownService } from "../../ports/ledger/scope.ts";
import type { TokenStore } from "../../ports/token-store.ts";
import { lostLedgerWarnings } from "../tokens/moved-destinations.ts";
import { brokenConditions, destinationConditions } from "./sync-conditions.ts";

interface Ports {
  readonly ledger: Pick<LedgerView, "inspect" | "id" | "service" | "tokenTables" | "existingCount">;
  readonly tokens: Pick<TokenStore, "inspect" | "destinations" | "holdsAny" | "rehearse">;
}

interface Settings {
  readonly name: string;
  readonly baseUrl: string;
  /** Whether a secret may be written to a store that remembers removed secrets. */
  readonly canary: boolean;
}

/** Whose tokens are in the stores, and whether the stores take tokens and let them go. */
export async function* tokenFindings(
  ports: Ports,
  { canary, ...settings }: Settings,
): AsyncGenerator<Finding> {
  const { ledger, tokens } = ports;
  const service = await knownService(ledger);
  if (service === null || (service.baseUrl ?? settings.baseUrl) !== settings.baseUrl) {
    await tokens.inspect();
    yield warning(
      "nobody can tell whether the tokens belong to another config, so no write was tried",
      "mend what is said of the ledger, and check again",
    );
    return;
  }
  const broken = await brokenConditions(destinationConditions({ ...ports, ...settings, service }));
  for (const error of broken) yield asFinding("failure", error);
  // Nothing is written where another config's tokens are, not even for a moment.
  if (broken.length > 0) return;
  yield* await tokens.rehearse({ canary });
  for (const lost of await lostLedgerWarnings(ports, service)) yield asFinding("warning", lost);
}

/** Null if the ledger can't be read. The check of the ledger says why. */
const knownService = (ledger: Pick<LedgerView, "service">): Promise<KnownService | null> =>
  ledger.service().catch((error: unknown) => {
    if (error instanceof SyncError && error.code.startsWith("LEDGER_")) return null;
    throw error;
  });
