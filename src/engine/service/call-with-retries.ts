import { LONGEST_TRY } from "../../core/failure/backoff.ts";
import { ServiceFailure } from "../../core/failure/service-failure.ts";
import type { HeldLease } from "../lease/lease.ts";
import type { Tally } from "../report/tally.ts";
import { LONGEST_DEFERRAL } from "./breaker.ts";
import { type AttemptContext, CallAttempts } from "./call-attempts.ts";
import type { Priority } from "./throttle.ts";

export interface CallContext extends AttemptContext {
  readonly priority: Priority;
  readonly lease: HeldLease;
  /** Once it aborts, no attempt starts, except the first attempt of a follow-up. */
  readonly signal: AbortSignal;
  /** Asked right before each attempt leaves, except that of a follow-up: whether what was decided is still right. */
  readonly mayStillSend?: (() => Promise<boolean>) | undefined;
  /** Called as soon as an attempt may have had its effect: whatever ends the call, the intent has to stay. */
  readonly onPerhapsSent?: (() => void) | undefined;
  /** Lets another call be made in this one's place meanwhile. Undefined if none is made. */
  readonly waitBeforeRetry?: WaitBeforeRetry | undefined;
  readonly tally: Pick<Tally, "requests">;
}

/** Waits this many milliseconds, or until the signal aborts. */
export type WaitBeforeRetry = (ms: number, signal: AbortSignal) => Promise<void>;

export type CallResult<T> =
  | {
      readonly kind: "answered";
      readonly answer: T;
      /** Whether an earlier attempt may have reached the service, with its answer lost. */
      readonly mayHaveBeenSent: boolean;
    }
  | {
      readonly kind: "failed";
      /** Of the last attempt. */
      readonly failure: ServiceFailure;
      /** Whether one of the attempts may have had its effect. */
      readonly mayHaveHappened: boolean;
    }
  /** Not attempted, or not attempted again, because the run is ending or the call may not be sent any more. */
  | { readonly kind: "interrupted"; readonly mayHaveHappened: boolean };

/**
 * Makes a call, and repeats it as `CallAttempts` decides. Rejects with LEASE_LOST.
 *
 * This is the lowest retry of a service call: most failures pass within seconds, and the group should not wait for the
 * next sync. The layer above is the group's own backoff over several runs (core/failure/backoff.ts).
 */
export async function callWithRetries<T>(
  id: string,
  request: (beforeSend: () => void) => Promise<T>,
  context: CallContext,
): Promise<CallResult<T>> {
  const { clock, throttle, priority, signal } = context;
  const attempts = new CallAttempts(id, context);
  let isMade = false;
  for (;;) {
    const call = await throttle.ready(signal, priority);
    // Make a follow-up only once while the run is ending. Nothing waits then, so it would be repeated without a pause.
    const mustBeMade = context.isFollowUp === true && !isMade;
    let sentAt = 0;
    try {
      if (!mustBeMade && !(await mayBeMade(context))) {
        throttle.withdraw(call);
        return { kind: "interrupted", mayHaveHappened: attempts.mayHaveHappened };
      }
      sentAt = clock.monotonic();
      context.lease.assertHeld();
      context.tally.requests++;
      isMade = true;
      // Check the lease again right before the request is sent: the process may have been suspended meanwhile.
      const answer = await request(() => context.lease.assertHeld());
      throttle.ended(call);
      return { kind: "answered", answer, mayHaveBeenSent: attempts.mayHaveHappened };
    } catch (error) {
      if (!(error instanceof ServiceFailure)) {
        throttle.withdraw(call);
        throw error;
      }
      if (error.mayHaveHappened) context.onPerhapsSent?.();
      const { waitMs, isOfThisCall } = attempts.failed(error, clock.monotonic() - sentAt);
      if (isOfThisCall) throttle.withdraw(call);
      else throttle.ended(call, error, id);
      if (waitMs === undefined || !(await waitToRepeat(waitMs, context)))
        return { kind: "failed", failure: error, mayHaveHappened: attempts.mayHaveHappened };
    }
  }
}

const mayBeMade = async ({ signal, isFollowUp, mayStillSend }: CallContext): Promise<boolean> =>
  !signal.aborted && (isFollowUp || !mayStillSend || (await mayStillSend())) && !signal.aborted;

/**
 * Waits before the next attempt. A pause of more than a minute is waited for only if it is for all calls: if it is this
 * group's alone, resolves to false after a minute, and a later run sees to the group.
 */
async function waitToRepeat(
  waitMs: number,
  { clock, throttle, signal, waitBeforeRetry }: CallContext,
): Promise<boolean> {
  const wait: WaitBeforeRetry = waitBeforeRetry ?? ((ms, until) => clock.sleep(ms, until));
  await wait(Math.min(waitMs, LONGEST_TRY), signal);
  if (waitMs <= LONGEST_TRY || signal.aborted) return true;
  // Within the minute, other calls have shown whether the service refuses them too. If none is made in this one's place, nobody
  // can tell, and a pause of up to ten minutes counts as one for all.
  const mayBeForAll = waitBeforeRetry === undefined && throttle.isPaused && waitMs <= LONGEST_DEFERRAL;
  if (!throttle.isPausedForSeveral && !mayBeForAll) return false;
  await wait(waitMs - LONGEST_TRY, signal);
  return true;
}
