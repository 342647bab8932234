import { LONGEST_SILENCE, msUntilAsked } from "../../core/drift/refresh.ts";
import { isInterruption, SyncError } from "../../core/failure/sync-error.ts";
import type { RunEvent } from "../../ports/observer.ts";
import { HELD_ALREADY, holding } from "../lease/keys.ts";
import type { Applying } from "../loop/work-through.ts";
import { makePlan, type PlanPorts, type PlanSettings } from "../plan/make-plan.ts";
import { Tally } from "../report/tally.ts";
import type { RefreshPolicy } from "./refresh-start.ts";
import { Silence, seekSignOfLife } from "./sign-of-life.ts";

export interface AskingSettings extends PlanSettings {
  readonly refresh: Pick<RefreshPolicy, "silence">;
}

/** Asks for a sign of life whenever the service has answered nobody for an hour. Rejects as `seekSignOfLife` does. */
export async function askIfSilent(
  ports: PlanPorts,
  settings: AskingSettings,
  run: Applying,
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

/** Reads the tenant's row first, as the ledger alone can't tell whether it is rejected or not ready. */
async function askOnce(
  ports: PlanPorts,
  settings: PlanSettings,
  silence: Silence,
  outer: Applying,
): Promise<void> {
  const { ledger, clock, keys } = outer;
  const now = clock.now();
  const limit = silence.failed.size + 1;
  const oldest = await ledger.candidates({ kind: "refreshable", since: now, now }, { limit });
  const candidate = oldest.find(({ user_group_id }) => !silence.failed.has(user_group_id));
  // The other counts are of the full sync alone.
  const observe = (event: RunEvent): void => {
    if (event.kind === "drift") outer.tally.counts.drift[event.drift]++;
    outer.observe(event);
  };
  const run = { ...outer, observe, tally: new Tally(), keys: HELD_ALREADY };
  if (candidate === undefined) return seekSignOfLife(undefined, undefined, silence, settings, run);
  const { user_group_id: id } = candidate;
  const ids = new Set([id]);
  await holding(keys, [id], async () => {
    const plan = await makePlan(ports, settings, await ledger.scope(), now, run.signal, {
      only: ids,
      isNoticed: true,
    });
    try {
      await seekSignOfLife(plan, ids, silence, settings, run);
    } finally {
      plan.entries.close();
    }
  });
}
