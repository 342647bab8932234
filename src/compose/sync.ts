import { DiskSpool } from "../adapters/disk/spool.ts";
import { hostClock } from "../adapters/host/clock.ts";
import { isDead, thisInstance } from "../adapters/host/instance.ts";
import { sqlLedger } from "../adapters/sql/ledger/ledger.ts";
import type { Config } from "../config/config.ts";
import { describeTokenDestinations } from "../config/descriptions.ts";
import { RecentWrites } from "../core/record/recent-writes.ts";
import { LONGEST_PUT } from "../core/tokens/token-copies.ts";
import type { SyncPorts, SyncSettings } from "../engine/sync.ts";
import type { Observe } from "../ports/observer.ts";
import { CONNECTIONS, Databases, TIMEOUTS } from "./databases.ts";
import type { Host } from "./host.ts";
import type { Opened } from "./opened.ts";
import { planSettings } from "./plan.ts";
import { tenantSource } from "./tenant-source.ts";
import { openTokens } from "./token-stores.ts";

/** What a run needs, whichever command begins it. */
export interface SyncSetup {
  readonly ports: SyncPorts;
  readonly settings: SyncSettings;
}

/** Contacts nothing before its first use; the caller closes it. `recent`: what earlier runs of this process wrote. */
export async function composeSync(
  config: Config,
  host: Host,
  observe: Observe,
  recent = new RecentWrites(hostClock.now()),
): Promise<Opened<SyncSetup>> {
  const { service } = config;
  const databases = new Databases(config.name, TIMEOUTS, host.stop);
  const ledgerDatabase = await databases.open(config.ledger.url, CONNECTIONS + config.rotation.concurrency);
  const ledger = sqlLedger(ledgerDatabase, config.ledger, config.name, config.history, recent);
  const beside = { database: ledgerDatabase, ledger };
  const tokens = await openTokens(config, host.uid, databases, beside, observe);
  const { HttpGroupService } = await import("../adapters/service/http-group-service.ts");
  const groups = new HttpGroupService(connectionOf(config));
  const holder = await thisInstance(host.pid);
  const callMs = tokens.value.outside ? Math.max(service.timeout, LONGEST_PUT) : service.timeout;
  return {
    value: {
      ports: {
        source: await tenantSource(config, databases),
        service: groups,
        tokens: tokens.value,
        ledger,
        clock: hostClock,
        openSpool: () => new DiskSpool(),
        observe,
        durabilityRisks: () => databases.risks(),
        recent,
      },
      settings: {
        ...planSettings(config),
        rotation: config.rotation,
        refresh: { everyMs: service.refresh ?? null },
        tokenDestinations: describeTokenDestinations(config.tokens),
        verifyTokensMs: shortestPeriod(config.tokens),
        baseUrl: service.base_url,
        concurrency: service.concurrency,
        rateLimit: service.rate_limit,
        lease: {
          holder,
          // Long enough for a call, and for one repetition of it or a token put into a store, before the lease ends.
          ttlMs: callMs + service.timeout + 15_000,
          callMs,
          isDead: (other) => isDead(other, host.isRunning),
        },
      },
    },
    close: async () => {
      await groups.close();
      await tokens.close();
      await databases.close();
    },
  };
}

/** How the service is called. */
export const connectionOf = ({ service }: Config) => ({
  baseUrl: service.base_url,
  apiKey: service.api_key,
  timeoutMs: service.timeout,
  concurrency: service.concurrency,
});

/** One verification covers all token stores, so the store with the shortest period decides how often it happens. */
function shortestPeriod(tokens: Config["tokens"]): number | undefined {
  const periods = tokens.flatMap(({ verify }) => verify ?? []);
  return periods.length === 0 ? undefined : Math.min(...periods);
}
