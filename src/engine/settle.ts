import type { Change } from "../core/change.ts";
import { SyncError } from "../core/errors.ts";
import type { Failure } from "../core/outcome.ts";
import type { KnownService } from "../ports/ledger.ts";
import type { RunEvent } from "../ports/observer.ts";
import { applyChanges } from "./apply.ts";
import { existingGroups, type Which } from "./existing-groups.ts";
import { changesOf, type Plan } from "./plan.ts";
import { type PlanPorts, type PlanSettings, planRun } from "./plan-run.ts";
import { type Run, Tally } from "./run.ts";

/** Why a change that an earlier run has begun is under way still, by the id of its group. */
export type Unsettled = ReadonlyMap<string, Failure>;

/**
 * Settles what earlier runs have left under way of these groups, as a sync does, and nothing else. The source is read
 * only for that, and where it can't be read that is told. Rejects where the run has to end.
 */
export async function settleUnderWay(
  which: Which,
  ports: PlanPorts,
  settings: PlanSettings,
  run: Run,
  service: KnownService,
): Promise<Unsettled> {
  const unsettled = new Map<string, Failure>();
  const ids = new Set<string>();
  for await (const id of existingGroups(run.ledger, { ...which, underWay: "another change" })) ids.add(id);
  if (ids.size === 0) return unsettled;

  run.observe({ kind: "phase", phase: "reading" });
  const plan = await planOf(ids, ports, settings, run, service);
  if (plan === undefined) return unsettled;
  try {
    const changes = await count(underWayIn(plan));
    run.observe({ kind: "planned", changes, unchanged: 0, missing: 0 });
    const tally = new Tally();
    const observe = (event: RunEvent): void => {
      if (event.kind === "failed") {
        const { user_group_id, code, message } = event;
        unsettled.set(user_group_id, { code, message });
      }
      run.observe(event.kind === "failed" ? notSettled(event) : event);
    };
    try {
      await applyChanges(underWayIn(plan), { ...run, tally, observe });
    } finally {
      // That a change has failed says nothing of its group's token, which is what this run is asked for.
      run.tally.add({ ...tally, counts: { ...tally.counts, failed: 0 } });
    }
    return unsettled;
  } finally {
    plan.entries.close();
  }
}

/** Undefined where the source can't be read: tokens that are known can be rotated all the same. */
async function planOf(
  only: ReadonlySet<string>,
  ports: PlanPorts,
  settings: PlanSettings,
  { ledger, clock, observe, signal }: Run,
  service: KnownService,
): Promise<Plan | undefined> {
  const state = { service, evidence: await ledger.evidence() };
  try {
    return await planRun(ports, settings, state, clock.now(), signal, { only });
  } catch (error) {
    if (!(error instanceof SyncError) || signal.aborted || error.code.startsWith("LEDGER_")) throw error;
    observe({
      kind: "warning",
      code: error.code,
      message: `what earlier runs have left under way is not settled: ${error.message}`,
      ...(error.hint !== undefined && { hint: error.hint }),
    });
    return undefined;
  }
}

/** Without what they make necessary beside: whatever a sync has not begun is left to the next one. */
async function* underWayIn(plan: Plan): AsyncGenerator<Change> {
  for await (const change of changesOf(plan)) if (change.underWay) yield change;
}

async function count(items: AsyncIterable<unknown>): Promise<number> {
  let counted = 0;
  for await (const _ of items) counted++;
  return counted;
}

const notSettled = ({ user_group_id, message }: Extract<RunEvent, { kind: "failed" }>): RunEvent => ({
  kind: "warning",
  code: "UNSETTLED",
  message: `what an earlier run has begun with group ${JSON.stringify(user_group_id)} is under way still: ${message}`,
  hint: "its token is rotated all the same where that is possible, and named where it is not; the next sync tries again",
});
