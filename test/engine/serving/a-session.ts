import { onTestFinished } from "vitest";
import type { RunReport } from "../../../src/engine/report/run-report.ts";
import { serveBeside } from "../../../src/engine/serving/serve-tenants.ts";
import { TenantServer } from "../../../src/engine/serving/tenant-server.ts";
import { type SyncSettings, sync } from "../../../src/engine/sync.ts";
import type { RunEvent, RunSummary } from "../../../src/ports/observer.ts";
import type { Served } from "../../../src/ports/serve-tenant.ts";
import { type Fate, Instance } from "../../fakes/instance.ts";
import { VirtualClock } from "../../fakes/virtual-time.ts";
import { syncSettings, type World } from "../../fakes/world.ts";

const FOREVER = new AbortController().signal;

/** A daemon's session: a full sync, and the service of single tenants beside it and after it, until `end` or the test's end. */
export function aSession(
  world: World,
  { settings = {}, ...fate }: Fate & { settings?: Partial<SyncSettings> } = {},
) {
  const clock = new VirtualClock(world.time);
  const served: Record<string, Served[]> = {};
  const events: RunEvent[] = [];
  let overflows = 0;
  const server = new TenantServer({
    clock,
    onServed: (id, what) => {
      served[id] = [...(served[id] ?? []), what];
    },
    onOverflow: () => overflows++,
  });
  const ending = new AbortController();
  const ports = world.ports(new Instance(fate), clock);
  const all = syncSettings(settings);
  let over = (_: RunSummary): void => {};
  const run = new Promise<RunSummary>((resolve) => {
    over = resolve;
  });
  const observe = (event: RunEvent): void => {
    events.push(event);
    if (event.kind === "finished") over(event);
  };
  const beside = serveBeside({ server, startNoticing: async () => {}, end: ending.signal }, ports, all);
  const ended = sync({ ...ports, observe }, all, {}, FOREVER, beside);
  ended.catch(() => {});
  const end = (): Promise<RunReport> => {
    ending.abort();
    return ended;
  };
  onTestFinished(async () => {
    if (!ending.signal.aborted) await end();
  });
  return {
    server,
    served,
    events,
    run,
    overflows: () => overflows,
    /** Resolves to what becomes of the tenant. */
    serve: (id: string) => server.serve(id, 3_600_000, FOREVER),
    end,
  };
}

export const asked = (world: World): string[] => world.service.requests.map(({ id }) => id);
export const stored = (world: World): string[] => [...world.store.tokens.keys()].sort();

/** Each call to the service takes this long, in milliseconds. */
export const slow = (world: World, ms: number): World => {
  world.network = () => world.time.sleep(ms);
  return world;
};
