import { LOOKUPS_NOT_INDEXED } from "../../core/changes/missing-index.ts";
import type { PlanPorts } from "../plan/make-plan.ts";
import { type AskingSettings, askIfSilent } from "../refresh/ask-if-silent.ts";
import { openService, type WorkBeside } from "./serve-tenants.ts";
import type { TenantServer } from "./tenant-server.ts";

interface ServingParts {
  readonly server: TenantServer;
  /** Starts to notice tenants. Resolves once no later change is lost. `table` is the table that the last run read. */
  readonly startNoticing: (table: string | null) => Promise<void>;
  /** Aborts when the next full sync begins. */
  readonly end: AbortSignal;
}

/** Serves single tenants beside a full sync, and after it until the next one begins. */
export const serveBeside =
  ({ server, startNoticing, end }: ServingParts, ports: PlanPorts, settings: AskingSettings): WorkBeside =>
  async (run, until) => {
    const { table } = (await run.ledger.scope()).history;
    await startNoticing(table);
    const service = await openService(ports, settings, run);
    if (!service.isIndexed) run.observe({ kind: "warning", ...LOOKUPS_NOT_INDEXED, isStanding: true });
    run.keys.whenPlanIsMade((ids) => {
      for (const id of ids) server.lookUpAgain(id);
    });
    const over = new AbortController();
    const ending = AbortSignal.any([until, end, over.signal]);
    const serving = async (): Promise<void> => {
      const stopTaking = run.lease.takeRequests((ids) => {
        for (const id of ids) server.request(id);
      });
      try {
        await server.serveIn(service, ending);
      } finally {
        over.abort();
        stopTaking();
        await service.close();
      }
    };
    const ended = serving();
    // It is awaited only after the full sync.
    ended.catch(() => {});
    return async () => {
      try {
        await askIfSilent(ports, settings, run, ending);
      } finally {
        over.abort();
        await ended;
      }
    };
  };
