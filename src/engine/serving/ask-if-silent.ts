import { LONGEST_SILENCE, msUntilAsked } from "../../core/drift/sign-of-life.ts";
import { isInterruption } from "../../core/failure/failure.ts";
import { SyncError } from "../../core/failure/sync-error.ts";
import type { RunEvent } from "../../ports/observer.ts";
import { inTurn, TURN_IS_TAKEN } from "../lease/tenant-turns.ts";
import { makePlan, type PlanPorts, type PlanSettings } from "../plan/make-plan.ts";
import { seekSignOfLife } from "../refresh/sign-of-life.ts";
import { Tally } from "../report/tally.ts";
import type { ServingRun } from "./companion.ts";

/** Asks for a sign of life whenever the service has answered nobody for an hour. Rejects as `seekSignOfLife` does. */
export async function askIfSilent(
  ports: PlanPorts,
  settings: PlanSettings,
  run: ServingRun,
  until: AbortSignal,
): Promise<void> {
  const { clock, identity } = run;
  while (!until.aborted) {
    const ms = msUntilAsked(identity, clock.now());
    if (ms > 0) await clock.sleep(Math.min(LONGEST_SILENCE, ms), until);
    else await askOnce(ports, settings, { ...run, signal: until }).catch(unlessInterrupted);
  }
}

function unlessInterrupted(error: unknown): void {
  if (!(error instanceof SyncError && isInterruption(error))) throw error;
}

/** Looks at the tenant first, as the ledger alone can't tell whether its row is rejected or not ready. */
async function askOnce(ports: PlanPorts, settings: PlanSettings, outer: ServingRun): Promise<void> {
  const { ledger, clock, turns } = outer;
  const now = clock.now();
  const [candidate] = await ledger.refreshable({ since: now, now, limit: 1 });
  // The other counts are of the full sync alone.
  const observe = (event: RunEvent): void => {
    if (event.kind === "drift") outer.tally.counts.drift[event.drift]++;
    outer.observe(event);
  };
  const run = { ...outer, observe, tally: new Tally(), turns: TURN_IS_TAKEN };
  if (candidate === undefined) return seekSignOfLife(undefined, undefined, settings, run);
  const only = new Set([candidate.user_group_id]);
  await inTurn(turns, [...only], async () => {
    const state = { service: await ledger.service(), history: await ledger.readHistory() };
    const plan = await makePlan(ports, settings, state, now, run.signal, { only, isNoticed: true });
    try {
      await seekSignOfLife(plan, only, settings, run);
    } finally {
      plan.entries.close();
    }
  });
}
