import { DiskSpool } from "../adapters/disk/spool.ts";
import { hostClock } from "../adapters/host/clock.ts";
import type { Config } from "../config/config.ts";
import { describeSource, describeTokenDestinations } from "../config/descriptions.ts";
import type { ForecastSetup } from "../engine/check/sync-forecast.ts";
import type { ExplainSetup } from "../engine/explain/explain-tenant.ts";
import type { PlanSettings } from "../engine/plan/make-plan.ts";
import type { TokenStore } from "../ports/token-store.ts";
import { Databases, openLedgerView, VIEW_TIMEOUTS } from "./databases.ts";
import type { Host } from "./host.ts";
import type { Opened } from "./opened.ts";
import { tenantSource } from "./tenant-source.ts";
import { openTokens } from "./token-stores.ts";

/** What `plan`, `explain` and the checks of the databases look at. It has no way to call the service. */
export type PlanSetup = ForecastSetup & ExplainSetup & { readonly tokens: TokenStore };

/** Contacts nothing before its first use; the caller closes it. */
export async function composePlan(config: Config, { uid, stop }: Host): Promise<Opened<PlanSetup>> {
  const databases = new Databases(config.name, VIEW_TIMEOUTS, stop);
  const ledger = await openLedgerView(config, databases);
  const tokens = await openTokens(config, uid, databases);
  return {
    value: {
      ports: { source: await tenantSource(config, databases), ledger, openSpool: () => new DiskSpool() },
      settings: planSettings(config),
      rotation: config.rotation,
      refresh: { everyMs: config.service.refresh ?? null },
      tokens: tokens.value,
      tokenDestinations: describeTokenDestinations(config.tokens),
      baseUrl: config.service.base_url,
      clock: hostClock,
    },
    close: async () => {
      await tokens.close();
      await databases.close();
    },
  };
}

export const planSettings = ({ name, group, service, source, deletion }: Config): PlanSettings => ({
  name,
  rules: group,
  update: service.update,
  deletion,
  source: describeSource(source, group.id),
});
