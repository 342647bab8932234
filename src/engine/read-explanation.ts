import type { RotationPolicy } from "../core/rotation/rotation-policy.ts";
import type { LedgerView } from "../ports/ledger/ledger.ts";
import type { TenantSource } from "../ports/tenant-source.ts";
import type { TokenStore } from "../ports/token-store.ts";
import { explainTenant } from "./explain/explain-tenant.ts";
import type { Explanation } from "./explain/explanation.ts";
import { type HostTime, type PlanSettings, readLedgerState } from "./plan/make-plan.ts";
import { type PredictionInputs, predictedFailures } from "./predict-sync.ts";

export interface ExplainSetup {
  readonly ports: { readonly source: TenantSource; readonly ledger: LedgerView };
  readonly settings: PlanSettings;
  readonly rotation: RotationPolicy;
  readonly tokens: PredictionInputs["tokens"] & Pick<TokenStore, "read" | "lagging">;
  /** The token destinations, for people to read. */
  readonly tokenDestinations: readonly string[];
  readonly baseUrl: string;
  readonly clock: HostTime;
}

/**
 * Reads all that is known of one tenant, and why a sync would fail. Sends nothing to the service, and changes nothing.
 * Rejects as `explainTenant` does.
 */
export async function readExplanation(
  id: string,
  { ports, settings, rotation, clock, ...setup }: ExplainSetup,
  stop: AbortSignal,
): Promise<Explanation> {
  const { source, ledger } = ports;
  const { tokens, tokenDestinations } = setup;
  const state = await readLedgerState({ ledger, clock }, await ledger.service());
  const { now, service } = state;
  const explained = await explainTenant(id, { source, ledger, tokens }, settings, state, now, stop);
  const failures = await predictedFailures({ ledger, service, name: settings.name, ...setup });
  return { explained, tokenDestinations, rotation, failures, now };
}
