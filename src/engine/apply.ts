import type { Change } from "../core/change.ts";
import type { Outcome } from "../core/outcome.ts";
import type { Begun } from "../ports/ledger.ts";
import { deleteGroup } from "./delete.ts";
import { IntentQueue } from "./intents.ts";
import { Recorder } from "./recorder.ts";
import { replaceGroup } from "./replace.ts";
import type { Run } from "./run.ts";
import { ServiceCalls } from "./service-calls.ts";
import { upsertGroup } from "./upsert.ts";

/**
 * Carries changes out: intent → service → token store → ledger, each step durable before the next.
 * Rejects where the run has to end; what was answered until then is recorded.
 */
export async function applyChanges(changes: AsyncIterable<Change>, run: Run): Promise<void> {
  const ending = new AbortController();
  const signal = AbortSignal.any([run.signal, ending.signal]);
  const intents = new IntentQueue(changes, run);
  const recorder = new Recorder(run);

  const applyNext = async (): Promise<boolean> => {
    const begun = signal.aborted ? undefined : await intents.next();
    if (begun === undefined) return false;
    const calls = new ServiceCalls(run, signal, begun.before, () => intents.keep(begun));
    try {
      const outcome = await outcomeOf(begun, calls, run);
      if (outcome === undefined) return false;
      // Also where nothing can have happened: the outcome takes the intent's place.
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
    // One at a time until an answer shows that this is the right service and team.
    while (!run.identity.confirmed && (await applyNext()));
    await allToTheirEnd(Array.from({ length: run.concurrency }, applyUntilEnd));
  };
  await eachInTurn([applyAll, () => recorder.drain(), () => intents.withdrawUnsent()]);
}

/** Undefined where the run is ending, and the change is left to the next one. Rejects where the run has to end. */
function outcomeOf({ change, before }: Begun, calls: ServiceCalls, run: Run): Promise<Outcome | undefined> {
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

/** Waits for all, then throws the first error: a call under way is never abandoned. */
async function allToTheirEnd(tasks: readonly Promise<void>[]): Promise<void> {
  const results = await Promise.allSettled(tasks);
  const failed = results.find((result) => result.status === "rejected");
  if (failed) throw failed.reason;
}

/** Takes every step, whatever became of those before it, then throws the first error. */
async function eachInTurn(steps: readonly (() => Promise<void>)[]): Promise<void> {
  const errors: unknown[] = [];
  for (const step of steps) await step().catch((error: unknown) => errors.push(error));
  if (errors.length > 0) throw errors[0];
}
