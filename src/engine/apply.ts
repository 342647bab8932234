import type { Apply } from "../core/decide.ts";
import type { Outcome } from "../core/outcome.ts";
import type { ServiceFailure } from "../core/service-failure.ts";
import { judge } from "../core/verdict.ts";
import type { GroupService, ServiceGroup } from "../ports/group-service.ts";
import type { Begun } from "../ports/ledger.ts";
import { type CallContext, type CallResult, callRepeatedly } from "./call.ts";
import { IntentQueue } from "./intents.ts";
import { Recorder } from "./recorder.ts";
import type { Run } from "./run.ts";

/**
 * Creates and updates groups: intent → GET → token store → ledger, each step durable before the next.
 * Rejects where the run has to end; what was answered until then is recorded.
 */
export async function applyChanges(changes: AsyncIterable<Apply>, run: Run): Promise<void> {
  const ending = new AbortController();
  const signal = AbortSignal.any([run.signal, ending.signal]);
  const intents = new IntentQueue(changes, run);
  const recorder = new Recorder(run);
  const calls: CallContext = {
    clock: run.clock,
    throttle: run.throttle,
    lease: run.lease,
    observe: run.observe,
    signal,
    countRequest: () => {
      run.tally.requests++;
    },
  };

  const applyNext = async (): Promise<boolean> => {
    const begun = signal.aborted ? undefined : await intents.next();
    if (begun === undefined) return false;
    const { apply } = begun;
    try {
      const called = await callRepeatedly(
        apply.user_group_id,
        (beforeSend) => run.service.getOrCreate(apply.group, beforeSend),
        calls,
      );
      if (called.kind !== "answered" && called.mayHaveHappened) intents.keep(begun);
      if (called.kind === "interrupted") return false;
      const outcome = await outcomeOf(called, begun, run);
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

type Answer = Awaited<ReturnType<GroupService["getOrCreate"]>>;
type Called = Exclude<CallResult<Answer>, { kind: "interrupted" }>;

/** Rejects where the run has to end. */
async function outcomeOf(called: Called, begun: Begun, run: Run): Promise<Outcome> {
  const { apply } = begun;
  if (called.kind === "failed") {
    const end = run.breaker.failed(called.failure);
    if (end) throw end;
    const { code, message } = called.failure;
    return { kind: "failed", apply, failure: { code, message }, mayHaveHappened: called.mayHaveHappened };
  }
  run.breaker.succeeded();
  const { isNew, group } = called.answer;
  await confirmTeam(isNew, group, apply, run);
  const { token, name: serviceName } = group;
  const verdict = judge(
    {
      sent: apply.group,
      known: begun.known,
      confirmedName: begun.confirmedName,
      mayHaveBeenSent: called.mayHaveBeenSent,
      serviceUpdates: run.identity.updates,
    },
    { isNew, name: serviceName },
  );
  run.identity.learnUpdates(verdict.serviceUpdates);
  if (verdict.kind === "not_updated") {
    const failure = { code: "NOT_UPDATED", message: verdict.reason };
    return { kind: "not_updated", apply, token, serviceName, failure };
  }
  return { kind: verdict.kind, apply, token, serviceName, unverified: verdict.unverified };
}

/** A group that was just made in the wrong team is taken out of it again. */
async function confirmTeam(isNew: boolean, group: ServiceGroup, apply: Apply, run: Run): Promise<void> {
  try {
    run.identity.confirmTeam(group.teamId);
  } catch (error) {
    if (isNew) {
      run.tally.requests++;
      await run.service.remove(apply.user_group_id, group.token).catch((failure: ServiceFailure) => {
        run.observe({
          kind: "warning",
          code: "GROUP_LEFT_BEHIND",
          message: `group ${apply.user_group_id} was created in team ${group.teamId} and could not be removed: ${failure.message}`,
          hint: "remove it by hand",
        });
      });
    }
    throw error;
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
