import { LONGEST_TRY, MAX_ATTEMPTS, waitBeforeAttempt } from "../core/backoff.ts";
import { ServiceFailure } from "../core/service-failure.ts";
import type { Clock } from "../ports/clock.ts";
import type { Observe } from "../ports/observer.ts";
import type { Breaker } from "./breaker.ts";
import type { HeldLease } from "./lease.ts";
import type { Retries } from "./retries.ts";
import type { Throttle } from "./throttle.ts";

export interface CallContext {
  readonly clock: Clock;
  readonly throttle: Throttle;
  readonly retries: Retries;
  readonly breaker: Breaker;
  readonly lease: HeldLease;
  readonly observe: Observe;
  /** No further attempt starts once it aborts. */
  readonly signal: AbortSignal;
  /** It is made once all the same: what came before it must not be left half done. */
  readonly isFollowUp?: boolean;
  /** An attempt that may have had its effect is the last. */
  readonly isUnrepeatable?: boolean;
  countRequest(): void;
}

export type CallResult<T> =
  | {
      readonly kind: "answered";
      readonly answer: T;
      /** An earlier attempt may have reached the service, its answer lost. */
      readonly mayHaveBeenSent: boolean;
    }
  | {
      readonly kind: "failed";
      /** Of the last attempt. */
      readonly failure: ServiceFailure;
      /** One of the attempts may have had its effect. */
      readonly mayHaveHappened: boolean;
    }
  /** Not made, or not made again, because the run is ending. */
  | { readonly kind: "interrupted"; readonly mayHaveHappened: boolean };

/** Makes a call, again and again where that can help. Rejects with LEASE_LOST. */
export async function callRepeatedly<T>(
  id: string,
  request: (beforeSend: () => void) => Promise<T>,
  context: CallContext,
): Promise<CallResult<T>> {
  const { clock, throttle, breaker, signal } = context;
  // What came before a follow-up must not be left half done for want of a budget.
  const mayRetry = (): boolean => context.isFollowUp === true || context.retries.mayRetry();
  let mayHaveHappened = false;
  /** When this call was refused for now the last time. */
  let servedBefore: number | undefined;
  let attempt = 1;
  let triedMs = 0;
  let isMade = false;
  for (;;) {
    const call = await throttle.ready(signal);
    // Once only: a service that asks for patience would be asked without end, for nothing waits when a run is ending.
    const mustBeMade = context.isFollowUp === true && !isMade;
    if (signal.aborted && !mustBeMade) {
      throttle.withdraw(call);
      return { kind: "interrupted", mayHaveHappened };
    }
    const sentAt = clock.monotonic();
    try {
      context.lease.assertHeld();
      context.countRequest();
      isMade = true;
      // Asked again when it leaves: a process may be stopped for long between here and there.
      const answer = await request(() => context.lease.assertHeld());
      throttle.ended(call);
      context.retries.answered();
      return { kind: "answered", answer, mayHaveBeenSent: mayHaveHappened };
    } catch (error) {
      if (!(error instanceof ServiceFailure)) {
        throttle.withdraw(call);
        throw error;
      }
      // While a limit is used up a call waits for its turn. One that others pass by is refused for its own sake.
      const isPassedBy = servedBefore !== undefined && breaker.served > servedBefore;
      const isHiccup = attempt === 1 && mayBeHiccup(error) && !context.isUnrepeatable && mayRetry();
      if (isHiccup) throttle.withdraw(call);
      else throttle.ended(call, error, { isOwn: isPassedBy && attempt > 1 });
      mayHaveHappened ||= error.mayHaveHappened;
      const failed = { kind: "failed", failure: error, mayHaveHappened } as const;
      const mustNotBeRepeated = context.isUnrepeatable === true && mayHaveHappened;
      if (error.reaction === "slow" && !isHiccup) {
        const isHopeless = breaker.deferred(id, clock.monotonic());
        if (isHopeless || mustNotBeRepeated) return failed;
        servedBefore = breaker.served;
        if ((error.code === "OVERLOADED" || isPassedBy) && attempt++ === MAX_ATTEMPTS) return failed;
        continue;
      }
      triedMs += clock.monotonic() - sentAt;
      const isSpent = attempt >= MAX_ATTEMPTS || triedMs >= LONGEST_TRY;
      const canBeRepeated = error.reaction === "retry" && !isSpent && !mustNotBeRepeated;
      if (!isHiccup && !(canBeRepeated && mayRetry())) return failed;
      attempt++;
      const waitMs = waitBeforeAttempt(attempt, () => clock.random());
      const { code, message } = error;
      context.observe({ kind: "retry", user_group_id: id, code, message, attempt, waitMs });
      triedMs += waitMs;
      await clock.sleep(waitMs, signal);
    }
  }
}

/** Without a word of when to come back it is a proxy's trouble more often than a limit; the next try tells. */
const mayBeHiccup = ({ code, retryAfterMs }: ServiceFailure): boolean =>
  code === "OVERLOADED" && retryAfterMs === undefined;
