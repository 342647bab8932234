import { LOOKUPS_NOT_INDEXED } from "../../core/changes/missing-index.ts";
import { LONGEST_SILENCE, msUntilAsked } from "../../core/drift/refresh.ts";
import { isInterruption, SyncError } from "../../core/failure/sync-error.ts";
import type { RunEvent } from "../../ports/observer.ts";
import { ALREADY_LOCKED, withLock } from "../lease/tenant-locks.ts";
import { makePlan, type PlanPorts, type PlanSettings } from "../plan/make-plan.ts";
import { type SignOfLifeSettings, Silence, seekSignOfLife } from "../refresh/sign-of-life.ts";
import { Tally } from "../report/tally.ts";
import { openService, type ServingRun, type WorkBeside } from "./serve-tenants.ts";
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
    const { table } = await run.ledger.readHistory();
    await startNoticing(table);
    const service = await openService(ports, settings, run);
    if (!service.isIndexed) run.observe({ kind: "warning", ...LOOKUPS_NOT_INDEXED, isStanding: true });
    run.locks.onceMore((ids) => {
      for (const id of ids) server.lookUpAgain(id);
    });
    const over = new AbortController();
    const ending = AbortSignal.any([until, end, over.signal]);
    const serving = async (): Promise<void> => {
      const stopTaking = run.lease.takeRequests((requests) => {
        for (const { user_group_id } of requests) server.request(user_group_id);
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

export type AskingSettings = PlanSettings & SignOfLifeSettings;

/** Asks for a sign of life whenever the service has answered nobody for an hour. Rejects as `seekSignOfLife` does. */
async function askIfSilent(
  ports: PlanPorts,
  settings: AskingSettings,
  run: ServingRun,
  until: AbortSignal,
): Promise<void> {
  const { clock, identity } = run;
  const { silence = new Silence() } = settings.refresh;
  while (!until.aborted) {
    const ms = msUntilAsked(identity, silence.unclearAt, clock.now());
    if (ms > 0) await clock.sleep(Math.min(LONGEST_SILENCE, ms), until);
    else await askOnce(ports, settings, silence, { ...run, signal: until }).catch(unlessInterrupted);
  }
}

function unlessInterrupted(error: unknown): void {
  if (!(error instanceof SyncError && isInterruption(error))) throw error;
}

/** Looks at the tenant first, as the ledger alone can't tell whether its row is rejected or not ready. */
async function askOnce(
  ports: PlanPorts,
  { refresh: _, ...others }: AskingSettings,
  silence: Silence,
  outer: ServingRun,
): Promise<void> {
  const settings = { ...others, refresh: { silence } };
  const { ledger, clock, locks } = outer;
  const now = clock.now();
  const { failed } = silence;
  const oldest = await ledger.refreshable({ since: now, now, limit: failed.size + 1 });
  const candidate = oldest.find(({ user_group_id }) => !failed.has(user_group_id));
  // The other counts are of the full sync alone.
  const observe = (event: RunEvent): void => {
    if (event.kind === "drift") outer.tally.counts.drift[event.drift]++;
    outer.observe(event);
  };
  const run = { ...outer, observe, tally: new Tally(), locks: ALREADY_LOCKED };
  if (candidate === undefined) return seekSignOfLife(undefined, undefined, settings, run);
  const only = new Set([candidate.user_group_id]);
  await withLock(locks, [...only], async () => {
    const state = { service: await ledger.service(), history: await ledger.readHistory() };
    const plan = await makePlan(ports, settings, state, now, run.signal, { only, isNoticed: true });
    try {
      await seekSignOfLife(plan, only, settings, run);
    } finally {
      plan.entries.close();
    }
  });
}
