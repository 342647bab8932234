import type { Outcome } from "../../core/apply/outcome.ts";
import type { Failure } from "../../core/failure/sync-error.ts";
import { type Change, isRemoval, type Removal } from "../../core/plan/change.ts";
import type { Begun } from "../../ports/ledger/groups.ts";
import type { Locks } from "../lease/tenant-locks.ts";
import type { WaitBeforeRetry } from "../service/call-with-retries.ts";
import { type ServiceCalling, ServiceCalls } from "../service/service-calls.ts";
import { IntentQueue } from "./intent-queue.ts";
import { OutcomeRecorder, type OutcomeRecording } from "./outcome-recorder.ts";
import type { RemovalCheck } from "./removal-check.ts";
import { deleteGroup, replaceGroup } from "./remove-group.ts";
import { upsertGroup } from "./upsert-group.ts";
import { work } from "./workers.ts";

/** What a step needs to make changes at the service. */
export interface Applying extends ServiceCalling, OutcomeRecording {
  readonly locks: Locks;
  readonly removals: Pick<RemovalCheck, "isStillRight">;
}

interface ApplyOptions {
  /** Begins no change after this aborts. Changes in flight go on to their end, with all their retries. */
  readonly until?: AbortSignal;
  /** Sends no call after this aborts, not even a retry. Calls in flight are awaited, and their answers recorded. */
  readonly stop?: AbortSignal;
  /** Called with each outcome, before it is recorded. */
  readonly answered?: (outcome: Outcome) => void;
}

/**
 * Makes the changes of a plan: intent → service → token store → ledger. Each step is durable before the next one starts.
 * Rejects if the run has to end, after it has recorded all answers that have come.
 */
export async function applyChanges(
  changes: AsyncIterable<Change>,
  run: Applying,
  { until, stop, answered }: ApplyOptions = {},
): Promise<void> {
  const ending = new AbortController();
  const signal = AbortSignal.any([run.signal, ending.signal, ...(stop ? [stop] : [])]);
  const beginning = AbortSignal.any([signal, ...(until ? [until] : [])]);
  const intents = new IntentQueue(changes, run);
  const recorder = new OutcomeRecorder(run);

  const withdrawIfOutdated = async (begun: Begun, removal: Removal): Promise<void> => {
    const { user_group_id: id } = removal;
    const next = intents.upcoming().filter(isRemoval);
    if (await run.removals.isStillRight(removal, next, { insistsOnNow: run.locks.wasLookedUp(id) })) return;
    await intents.withdrawOne(begun);
    run.tally.report(id, TENANT_RETURNED);
  };
  /** Resolves to false if nothing is left to do, or if the run is ending. */
  const applyNext = async (waitBeforeRetry?: WaitBeforeRetry): Promise<boolean> => {
    const next = beginning.aborted ? undefined : await intents.next();
    const change = next?.change ?? (beginning.aborted ? undefined : intents.nextDeferred());
    if (change === undefined) return false;
    const lock = await run.locks.acquire([change.user_group_id]);
    try {
      const begun = next ?? (await intents.begin(change));
      if (isRemoval(change) && intents.isOpen(begun)) await withdrawIfOutdated(begun, change);
      const keep = (): void => intents.keep(begun);
      const calls = new ServiceCalls(run, signal, begun.before, keep, waitBeforeRetry);
      const outcome = intents.isOpen(begun) ? await outcomeOf(begun, calls, run) : "withdrawn";
      if (outcome === undefined || outcome === "withdrawn") {
        lock.release();
        return outcome !== undefined;
      }
      // Don't withdraw the intent, even if no call was sent: recording the outcome clears it.
      intents.keep(begun);
      answered?.(outcome);
      await recorder.add(begun, outcome, lock);
      calls.endRunIfDue();
      return true;
    } catch (error) {
      lock.release();
      ending.abort();
      throw error;
    }
  };
  const applyAll = async (): Promise<void> => {
    // Make one change at a time until an answer shows that this is the right service and team.
    while (!run.identity.confirmed && (await applyNext()));
    await work(run, applyNext);
  };
  await run.locks.whileMaking(intents, () =>
    runInOrder([applyAll, () => recorder.drain(), () => intents.withdrawUnsent()]),
  );
}

/** Resolves to undefined if the run is ending: the next run then makes the change. Rejects if the run has to end. */
function outcomeOf(
  { change, before }: Begun,
  calls: ServiceCalls,
  run: Applying,
): Promise<Outcome | undefined> {
  switch (change.kind) {
    case "create":
    case "update":
      return upsertGroup(change, before, calls, run);
    case "replace":
      return replaceGroup(change, before, calls, run);
    case "delete":
      return deleteGroup(change, before, calls, run);
  }
}

/** Runs every step in this order, even if an earlier step failed, and then throws the first error. */
async function runInOrder(steps: readonly (() => Promise<void>)[]): Promise<void> {
  const errors: unknown[] = [];
  for (const step of steps) await step().catch((error: unknown) => errors.push(error));
  if (errors.length > 0) throw errors[0];
}

const TENANT_RETURNED: Failure = {
  code: "TENANT_RETURNED",
  message:
    "its row has come back or changed since the source was read, so its group is not removed; the next sync looks at it again",
};
