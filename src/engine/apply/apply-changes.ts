import type { Outcome } from "../../core/apply/outcome.ts";
import type { Change } from "../../core/plan/change.ts";
import type { Begun } from "../../ports/ledger/groups.ts";
import { type ServiceCalling, ServiceCalls } from "../service/service-calls.ts";
import { deleteGroup } from "./delete-group.ts";
import { IntentQueue } from "./intent-queue.ts";
import { OutcomeRecorder, type OutcomeRecording } from "./outcome-recorder.ts";
import { replaceGroup } from "./replace-group.ts";
import { upsertGroup } from "./upsert-group.ts";

/** What a step needs to make changes at the service. */
export type Applying = ServiceCalling & OutcomeRecording;

/**
 * Makes the changes of a plan: intent → service → token store → ledger. Each step is durable before the next one starts.
 * Rejects if the run has to end, after it has recorded all answers that have come.
 */
export async function applyChanges(changes: AsyncIterable<Change>, run: Applying): Promise<void> {
  const ending = new AbortController();
  const signal = AbortSignal.any([run.signal, ending.signal]);
  const intents = new IntentQueue(changes, run);
  const recorder = new OutcomeRecorder(run);

  const applyNext = async (): Promise<boolean> => {
    const begun = signal.aborted ? undefined : await intents.next();
    if (begun === undefined) return false;
    const calls = new ServiceCalls(run, signal, begun.before, () => intents.keep(begun));
    try {
      const outcome = await outcomeOf(begun, calls, run);
      if (outcome === undefined) return false;
      // Don't withdraw the intent, even if no call was sent: recording the outcome clears it.
      intents.keep(begun);
      await recorder.add(begun, outcome);
      return true;
    } catch (error) {
      ending.abort();
      throw error;
    }
  };
  const applyUntilEnd = async (): Promise<void> => {
    while (await applyNext());
  };

  const applyAll = async (): Promise<void> => {
    // Make one change at a time until an answer shows that this is the right service and team.
    while (!run.identity.confirmed && (await applyNext()));
    await settleAll(Array.from({ length: run.concurrency }, applyUntilEnd));
  };
  await runInOrder([applyAll, () => recorder.drain(), () => intents.withdrawUnsent()]);
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

/** Waits for all tasks before it throws the first error, because a call under way must not be abandoned. */
async function settleAll(tasks: readonly Promise<void>[]): Promise<void> {
  const results = await Promise.allSettled(tasks);
  const failed = results.find((result) => result.status === "rejected");
  if (failed) throw failed.reason;
}

/** Runs every step in this order, even if an earlier step failed, and then throws the first error. */
async function runInOrder(steps: readonly (() => Promise<void>)[]): Promise<void> {
  const errors: unknown[] = [];
  for (const step of steps) await step().catch((error: unknown) => errors.push(error));
  if (errors.length > 0) throw errors[0];
}
