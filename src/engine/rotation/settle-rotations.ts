import { isDue, waitAfterFailures } from "../../core/failure/backoff.ts";
import { type Failure, SyncError } from "../../core/failure/sync-error.ts";
import { tokenFingerprint } from "../../core/group/group.ts";
import { intendsRemoval } from "../../core/group/ledger-group.ts";
import type { Change } from "../../core/plan/change.ts";
import type { KnownToken } from "../../ports/ledger/groups.ts";
import type { KnownService } from "../../ports/ledger/scope.ts";
import type { RunEvent } from "../../ports/observer.ts";
import { type Applying, applyChanges } from "../apply/apply-changes.ts";
import type { LedgerWriting } from "../lease/lease.ts";
import { inTurn, type Turns } from "../lease/tenant-turns.ts";
import { makePlan, type PlanPorts, type PlanSettings } from "../plan/make-plan.ts";
import { changesOf, type LeftUnderWay, type Plan } from "../plan/plan.ts";
import { type Reporting, reportFailure, Tally } from "../report/run-report.ts";
import { type ServiceCalling, ServiceCalls } from "../service/service-calls.ts";
import type { TokenWriting } from "../tokens/retry-batch.ts";
import { sharedBy } from "../tokens/shared-tokens.ts";
import { LiveTokenWriter } from "./live-token-writer.ts";
import { existingGroups, type GroupSelection } from "./rotation-selection.ts";

/**
 * Settles rotations and updates that an earlier run left under way and that this run's plan doesn't continue, for example
 * because the row is rejected now. The stored token may be dead, so a GET asks for the live token. The GET sends the group
 * as the service last confirmed it, which settles the update as well. Groups that failed wait until their next try is due,
 * unless `isEager`: the operator named them. Resolves to the groups that stay under way; they have been reported.
 * Rejects if the run has to end.
 */
export async function settleRotations(
  left: readonly LeftUnderWay[],
  { isEager }: { readonly isEager: boolean },
  run: ServiceCalling & TokenWriting & { readonly turns: Turns },
): Promise<ReadonlySet<string>> {
  const unsettled = new Set<string>();
  const failures = new Map(left.map(({ user_group_id, failure }) => [user_group_id, failure]));
  if (failures.size === 0) return unsettled;
  // Some may have been settled since the plan was made, for example by a removal.
  const stillLeft = existingGroups(run.ledger, { of: [...failures.keys()], underWay: "anything" });
  for await (const id of stillLeft) {
    if (run.signal.aborted) break;
    const failure = failures.get(id);
    const waits = failure && !isEager && !isDue(failure.retryAt, run.clock.now());
    if (waits) run.tally.waits(id, failure);
    if (waits || !(await inTurn(run.turns, [id], () => settleToken(id, run)))) unsettled.add(id);
  }
  return unsettled;
}

/** Resolves to false if it failed; the failure is recorded and reported. */
async function settleToken(id: string, run: ServiceCalling & TokenWriting): Promise<boolean> {
  const { ledger, lease, clock, tally, observe } = run;
  const known = await ledger.write(lease, (transaction) => transaction.beginRotation(id, clock.now()));
  const group = (await ledger.confirmed([id])).get(id);
  if (known === undefined || intendsRemoval(known.intent)) return true;
  if (group === undefined) return recordFailure(id, NOT_ASKED, known, run);
  const calls = new ServiceCalls(run, run.signal, known);
  const found = await calls.getOrCreate(group);
  if (found.kind === "interrupted") return true;
  if (found.kind === "failed") {
    await recordFailure(id, found.failure, known, run);
    calls.endRunIfDue();
    return false;
  }

  const { token } = found.answer.group;
  const fingerprint = tokenFingerprint(token);
  const settled = { user_group_id: id, tokenFingerprint: fingerprint, failure: null, isOpen: false };
  const refusal = await new LiveTokenWriter(run).tryOnce({ user_group_id: id, token }, (transaction) =>
    transaction.recordRotation(settled, clock.now()),
  );
  if (refusal) return recordFailure(id, refusal, known, run, sharedBy(refusal, token));
  if (known.intent !== "rotate" || fingerprint === known.tokenFingerprint) return true;
  tally.counts.rotated++;
  observe({
    kind: "rotated",
    user_group_id: id,
    tokenFingerprint: fingerprint,
    formerTokenFingerprint: known.tokenFingerprint,
  });
  return true;
}

async function recordFailure(
  id: string,
  { code, message }: Failure,
  known: KnownToken,
  run: LedgerWriting & Reporting,
  shared: ReturnType<typeof sharedBy> = {},
): Promise<false> {
  const { ledger, lease, clock } = run;
  const now = clock.now();
  const count = known.failures.storing + 1;
  const failure = { code, message, count, retryAt: new Date(now.getTime() + waitAfterFailures(count)) };
  await ledger.write(lease, (transaction) =>
    transaction.recordStored([{ user_group_id: id, failure, ...shared }], now),
  );
  reportFailure(id, { code, message }, run);
  return false;
}

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

/**
 * Why a group can't be rotated before a sync has settled another change of the group; undefined if it can. `reason` says
 * why that change could not be settled.
 */
export function whyUnsettled(
  known: KnownToken | undefined,
  reason: Failure | undefined,
): Failure | undefined {
  if (known === undefined) return undefined;
  const mayNotExist = known.intent === "apply" && known.tokenFingerprint === null;
  if (!mayNotExist && !intendsRemoval(known.intent)) return undefined;
  return {
    code: "UNSETTLED",
    message: `an earlier run left another change of this group under way, and a sync has to settle it first${reason ? `: ${reason.message}` : ""}`,
  };
}

export const UNASKABLE: Failure = {
  code: "UNSETTLED",
  message:
    "the live token of this group isn't stored, and asking the service for it could change the group, because only the group's name at the service is known; a sync asks for it",
};

/** The failure of a group that a sync left under way and can't settle by a GET. */
const NOT_ASKED: Failure = {
  code: "UNSETTLED",
  message:
    "an earlier run left a change of this group under way, so its token may not be stored; a GET could change the group, because its full state is not known, and its row is rejected or gone: correct the row, or have the group deleted",
};

export const FORGOTTEN: Failure = { code: "UNKNOWN_ID", message: "the ledger has no such group any more" };

/** The failure of a rotation that doesn't begin, because another group's new token waits to be stored. */
export const NOT_BEGUN: Failure = {
  code: "NOT_ROTATED",
  message:
    "the rotation did not begin, because another group's new token could not be stored; the token of this group is unchanged",
};

export const newTokenNotStored = ({ message }: Failure): Failure => ({
  code: "NEW_TOKEN_NOT_STORED",
  message: `the old token is dead, and the new one could not be stored: ${message}; the next sync asks for it and stores it`,
});
