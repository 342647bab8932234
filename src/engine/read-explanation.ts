import { SyncError } from "../core/failure/sync-error.ts";
import type { RotationPolicy } from "../core/rotation/rotation-policy.ts";
import type { LedgerView } from "../ports/ledger/ledger.ts";
import type { TenantSource } from "../ports/tenant-source.ts";
import type { TokenStore } from "../ports/token-store.ts";
import { predictedFailures, type SyncConditions } from "./check/sync-forecast.ts";
import { type Explanation, explainTenant } from "./explain/explain-tenant.ts";
import { type HostTime, type PlanSettings, readLedgerState } from "./plan/make-plan.ts";

export interface ExplainSetup {
  readonly ports: { readonly source: TenantSource; readonly ledger: LedgerView };
  readonly settings: PlanSettings;
  readonly rotation: RotationPolicy;
  readonly tokens: SyncConditions["tokens"] & Pick<TokenStore, "read" | "lagging">;
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

/**
 * The source for readers whom nobody vouches for: it looks a tenant up only if an index finds the tenant. Without an
 * index each look would read the whole source. `lookUps` rejects with LOOKS_NOT_INDEXED then.
 */
export const indexedOnly = (source: TenantSource): TenantSource => ({
  open: (...request) => source.open(...request),
  lookUps: async (...request) => {
    const lookUps = await source.lookUps(...request);
    if (lookUps.isIndexed) return lookUps;
    await lookUps.close();
    throw new SyncError(
      "LOOKS_NOT_INDEXED",
      "the database would read the whole source to find one tenant, so the page doesn't ask it",
      {
        hint: "create an index on the column of group.id (see docs/new-tenants.md), or run groupsync explain",
      },
    );
  },
});
