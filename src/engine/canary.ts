import { type Failure, SyncError } from "../core/failure/sync-error.ts";
import { CANARY_NAME, canaryGroup, type DeleteField, type DeleteTry } from "../core/probe/findings.ts";
import type { Secret } from "../core/secret/secret.ts";
import type { Canary } from "../ports/ledger/scope.ts";
import { Breaker } from "./service/breaker.ts";
import {
  isTokenRefused,
  type ServiceCalling,
  ServiceCalls,
  type Unanswered,
} from "./service/service-calls.ts";

/** The DELETEs to try, until the service takes one: as a sync sends it, without and with a data source. */
const FORMS: readonly (readonly DeleteField[])[] = [
  ["current_token", "user_group_id"],
  ["current_token", "user_group_id", "data_source_provided_id"],
];
/** How many times a DELETE is tried whose answer is lost. If that happens several times in a row, it happens for a reason. */
const MOST_ROUNDS = 6;

export interface CanaryDeletion {
  /** Whether the service has deleted the canary for certain. */
  readonly isGone: boolean;
  readonly tries: readonly DeleteTry[];
  /** Why nobody can tell, if a call failed. Undefined if every DELETE was refused, or if the run is ending. */
  readonly failure?: Failure | undefined;
}

/**
 * Deletes the canary, with its live token. If `live` is left out, a GET asks for the token; the GET makes the canary anew if
 * it was never made or is gone already. A DELETE's answer alone is no proof, so a GET looks whether the canary is gone. That
 * GET makes it anew, and the same DELETE follows once more. It doesn't matter what earlier calls did, so this can be repeated at any time.
 * Rejects if the run has to end.
 */
async function deleteCanary(
  user_group_id: string,
  calls: ServiceCalls,
  live?: Secret,
): Promise<CanaryDeletion> {
  const tries: DeleteTry[] = [];
  const unclear = (called: Unanswered): CanaryDeletion => ({
    ...{ isGone: false, tries },
    ...(called.kind === "failed" && { failure: called.failure }),
  });
  const get = () => calls.getOrCreate(canaryGroup(user_group_id, CANARY_NAME));
  let token = live;
  for (const fields of FORMS) {
    let hasEffect = false;
    for (let round = 1; ; round++) {
      if (token === undefined) {
        const found = await get();
        if (found.kind !== "answered") return unclear(found);
        token = found.answer.group.token;
      }
      // A data source that doesn't exist: no DELETE of a canary may name a real one.
      const dataSourceId = fields.includes("data_source_provided_id") ? user_group_id : null;
      const removed = await calls.remove({ user_group_id, token, dataSourceId });
      if (removed.kind === "interrupted") return unclear(removed);
      if (removed.kind === "answered") {
        if (hasEffect) {
          tries.push({ fields, result: "deleted", text: null });
          return { isGone: true, tries };
        }
        const found = await get();
        if (found.kind !== "answered") return unclear(found);
        const { isNew, group } = found.answer;
        // If the answer of an earlier GET was lost, that GET has made the canary anew.
        hasEffect = isNew || (found.mayHaveBeenSent && !group.token.equals(token));
        token = group.token;
        if (hasEffect) continue;
        tries.push({ fields, result: "refused", text: NO_EFFECT });
        break;
      }
      const { message: text } = removed.failure;
      let isUnchanged = !removed.mayHaveHappened;
      if (removed.mayHaveHappened) {
        const found = await get();
        if (found.kind !== "answered") return unclear(found);
        isUnchanged = found.answer.group.token.equals(token);
        token = found.answer.group.token;
      }
      if (isUnchanged && isNo(removed)) {
        tries.push({ fields, result: "refused", text });
        break;
      }
      if (isUnchanged || round === MOST_ROUNDS) {
        tries.push({ fields, result: "failed", text });
        return unclear(removed);
      }
    }
  }
  return { isGone: false, tries };
}

/**
 * Whether the service has said no, if the call had no effect: with a server error, or an answer that can't be used, too. A
 * token that two groups share is no refusal: then nothing was sent.
 */
export const isNo = ({ failure }: Extract<Unanswered, { kind: "failed" }>): boolean =>
  failure.code !== "TOKEN_SHARED" && (isTokenRefused(failure) || failure.code === "SERVICE_ERROR");

const NO_EFFECT = "DELETE was answered with success, but a GET finds the group as before";

interface Run extends ServiceCalling {
  /** Aborts when the run has to end. */
  readonly signal: AbortSignal;
}

/** For how long a canary may be deleted once the run is told to end, in milliseconds. */
const LONGEST_DELETION_AT_THE_END = 10_000;

/** Deletes the canary even if the run is told to end. */
export async function deleteAtEnd(id: string, live: Secret | undefined, run: Run): Promise<CanaryDeletion> {
  const over = new AbortController();
  const ending = AbortSignal.any([run.lease.lost, shortlyAfter(run, over.signal)]);
  const calls = new ServiceCalls(run, ending, { intent: "apply", tokenFingerprint: null });
  try {
    return await deleteCanary(id, calls, live);
  } finally {
    over.abort();
  }
}

/** Aborts a while after the run is told to end, unless `over` aborts first. */
function shortlyAfter({ signal, clock }: Pick<Run, "signal" | "clock">, over: AbortSignal): AbortSignal {
  const late = new AbortController();
  const wait = async (): Promise<void> => {
    await clock.sleep(LONGEST_DELETION_AT_THE_END, over);
    late.abort();
  };
  if (signal.aborted) void wait();
  else signal.addEventListener("abort", wait, { once: true, signal: over });
  return late.signal;
}

/** For how long a sync tries to delete a canary, in milliseconds. Enough for failures that come at random. */
const LONGEST_IN_A_SYNC = 8_000;

/**
 * Deletes the canary that an earlier probe has left at the service, because it was killed or its DELETE failed. Resolves to
 * CANARY_REMAINS if the service still has the canary. Once `ending` aborts, no call starts. Rejects if the run has to end.
 */
export async function deleteLeftCanary(
  run: Run,
  { baseUrl }: { readonly baseUrl: string },
  ending = run.signal,
): Promise<SyncError | undefined> {
  const { ledger, lease } = run;
  const { canary } = await ledger.scope();
  if (canary === null || ending.aborted) return undefined;
  if (canary.baseUrl !== baseUrl) return isElsewhere(canary);
  const { user_group_id } = canary;
  // A tenant has this id by now, so the group is the tenant's.
  if ((await ledger.records([user_group_id])).size === 0) {
    // A call of the probe may still be under way.
    const calls = new ServiceCalls(run, ending, { intent: "apply", tokenFingerprint: null });
    const { isGone, failure } = await deleteCanary(user_group_id, calls);
    if (!isGone) return remains(user_group_id, failure?.message ?? (ending.aborted ? CUT_SHORT : undefined));
  }
  await ledger.write(lease, (transaction) => transaction.recordScope({ canary: null }));
  return undefined;
}

/**
 * A sync's last step. A canary is nobody's group: if it can't be deleted, the sync is none the worse. So the sync neither waits
 * long for it, nor takes its failures for a sign that the service is down. The next sync tries again.
 */
export async function deleteCanaryOrWarn(run: Run, at: { readonly baseUrl: string }): Promise<void> {
  const { clock, lease, signal } = run;
  if ((await run.ledger.scope()).canary === null) return;
  await lease.formerCallsEnded(signal);
  const [late, over] = [new AbortController(), new AbortController()];
  void clock.sleep(LONGEST_IN_A_SYNC, over.signal).then(() => late.abort());
  // The failures of the run's other calls don't count.
  const breakers = { GET: new Breaker(true), POST: new Breaker(true), DELETE: new Breaker(true) };
  try {
    const left = await deleteLeftCanary({ ...run, breakers }, at, AbortSignal.any([signal, late.signal]));
    if (left === undefined || signal.aborted) return;
    const { code, message, hint = "" } = left;
    run.observe({ kind: "warning", code, message, hint });
  } finally {
    over.abort();
  }
}

const CUT_SHORT = "there was no time left to delete it";

/** The error of a canary that could not be deleted. `reason` is why nobody can tell; without it, no DELETE got through. */
export const remains = (id: string, reason = "no DELETE deletes it"): SyncError =>
  new SyncError("CANARY_REMAINS", `the service still has the canary of a probe, ${id}: ${reason}`, {
    hint: `every sync and every probe tries again to delete it. If you delete it by hand, run groupsync probe --forget ${id} afterwards: otherwise the next try makes it anew`,
  });

const isElsewhere = ({ user_group_id: id, baseUrl }: Canary): SyncError =>
  new SyncError("CANARY_REMAINS", `a probe has left its canary, ${id}, at ${baseUrl}`, {
    hint: `run groupsync probe with service.base_url: ${baseUrl}, which deletes it; or delete it by hand, and run groupsync probe --forget ${id}`,
  });
