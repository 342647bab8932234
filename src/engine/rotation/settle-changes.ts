import { type Failure, SyncError } from "../../core/failure/sync-error.ts";
import type { Change } from "../../core/plan/change.ts";
import type { KnownService } from "../../ports/ledger/scope.ts";
import type { RunEvent } from "../../ports/observer.ts";
import { type Applying, applyChanges } from "../apply/apply-changes.ts";
import { makePlan, type PlanPorts, type PlanSettings } from "../plan/make-plan.ts";
import { changesOf, type Plan } from "../plan/plan.ts";
import { Tally } from "../report/tally.ts";
import { existingGroups, type GroupSelection } from "./rotation-selection.ts";

/** Why a change of an earlier run is still under way, by the id of its group. */
export type Unsettled = ReadonlyMap<string, Failure>;

/**
 * Settles the changes of these groups that earlier runs left under way, as a sync would, before `rotate` begins. Makes no
 * other change, and finishes no deletion, which only a sync of all tenants does. Looks at the source only if there are such groups; if the source can't be read, warns and settles nothing.
 * Rejects if the run has to end.
 */
export async function settleChanges(
  which: GroupSelection,
  ports: PlanPorts,
  settings: PlanSettings,
  run: Applying,
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
      // A failed change is no failure of this run, which is asked for new tokens only.
      run.tally.add({ ...tally, counts: { ...tally.counts, failed: 0 } });
    }
    return unsettled;
  } finally {
    plan.entries.close();
  }
}

/** Resolves to undefined if the source can't be read: groups with a known token can be rotated without it. */
async function planOf(
  only: ReadonlySet<string>,
  ports: PlanPorts,
  settings: PlanSettings,
  { ledger, clock, observe, signal }: Applying,
  service: KnownService,
): Promise<Plan | undefined> {
  const state = { service, history: await ledger.readHistory() };
  try {
    return await makePlan(ports, settings, state, clock.now(), signal, { only });
  } catch (error) {
    if (!(error instanceof SyncError) || signal.aborted || error.code.startsWith("LEDGER_")) throw error;
    observe({
      kind: "warning",
      code: error.code,
      message: `changes that earlier runs left under way are not settled: ${error.message}`,
      ...(error.hint !== undefined && { hint: error.hint }),
    });
    return undefined;
  }
}

/** The changes that an earlier run began. Changes that no run began yet are left to the next sync. */
async function* underWayIn(plan: Plan): AsyncGenerator<Change> {
  for await (const change of changesOf(plan)) if (change.underWay) yield change;
}

async function count(items: AsyncIterable<unknown>): Promise<number> {
  let quantity = 0;
  for await (const _ of items) quantity++;
  return quantity;
}

const notSettled = ({ user_group_id, message }: Extract<RunEvent, { kind: "failed" }>): RunEvent => ({
  kind: "warning",
  code: "UNSETTLED",
  message: `a change of group ${JSON.stringify(user_group_id)} that an earlier run began is still under way: ${message}`,
  hint: "its token is rotated if that is possible, and otherwise reported; the next sync tries the change again",
});
