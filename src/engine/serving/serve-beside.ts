import { LOOKS_NOT_INDEXED } from "../../core/changes/noticing-trouble.ts";
import type { PlanPorts } from "../plan/make-plan.ts";
import { toAnswer } from "./ask-holder.ts";
import { type AskingSettings, askIfSilent } from "./ask-if-silent.ts";
import type { Companion, ServingRun } from "./companion.ts";
import { openService } from "./serve-tenants.ts";
import type { TenantServer } from "./tenant-server.ts";

interface ServingParts {
  readonly server: TenantServer;
  /** Starts to notice tenants. Resolves once no later change is lost. `table` is the table that the last run read. */
  readonly startNoticing: (table: string | null) => Promise<void>;
  /** Aborts when the next full sync begins. */
  readonly end: AbortSignal;
}

/** An instance that was asked for a tenant doesn't wait for longer than this, in milliseconds. */
const LONGEST_WAIT = 60_000;

/** Serves single tenants beside a full sync, and after it until the next one begins. */
export const serveBeside = (
  { server, startNoticing, end }: ServingParts,
  ports: PlanPorts,
  settings: AskingSettings,
): Companion => ({
  retry: (user_group_id) => server.retry(user_group_id),
  async begin(run, until) {
    const { table } = await run.ledger.readHistory();
    await startNoticing(table);
    const service = await openService(ports, settings, run);
    if (!service.isIndexed) run.observe({ kind: "warning", ...LOOKS_NOT_INDEXED, isStanding: true });
    run.turns.onceMore((ids) => {
      for (const id of ids) server.lookAgain(id);
    });
    const over = new AbortController();
    const ending = AbortSignal.any([until, end, over.signal]);
    const serving = async (): Promise<void> => {
      const answersSent = answerRequests(server, run, ending);
      try {
        await server.serveIn(service, ending);
      } finally {
        over.abort();
        await answersSent();
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
  },
});

/**
 * Serves the tenants that instances without the lease were asked for, and tells them the end through the ledger. Returns
 * what ends this, once the last answer is there.
 */
function answerRequests(
  server: TenantServer,
  { ledger, lease }: ServingRun,
  until: AbortSignal,
): () => Promise<void> {
  const inWork = new Map<string, Promise<void>>();
  const answer = async (id: string, user_group_id: string): Promise<void> => {
    const served = await server.serve(user_group_id, LONGEST_WAIT, until);
    if (served.kind === "pending") return;
    await ledger.write(lease, (transaction) => transaction.answerRequests([{ id, ...toAnswer(served) }]));
  };
  const stopHearing = lease.hearRequests((requests) => {
    for (const { id, user_group_id } of requests) {
      if (inWork.has(id)) continue;
      // A request that can't be answered is heard again.
      const work = answer(id, user_group_id)
        .catch(() => {})
        .finally(() => inWork.delete(id));
      inWork.set(id, work);
    }
  });
  return async () => {
    stopHearing();
    await Promise.all(inWork.values());
  };
}
