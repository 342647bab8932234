import { ServiceFailure } from "../../core/failure/service-failure.ts";
import type { HeldLease } from "../lease/lease.ts";
import { CallAttempts, type CallAttemptsContext } from "./call-attempts.ts";
import type { Priority, Throttle } from "./throttle.ts";

export interface CallContext extends CallAttemptsContext {
  readonly throttle: Throttle;
  readonly priority: Priority;
  readonly lease: HeldLease;
  /** Once it aborts, no attempt starts, except the first attempt of a follow-up. */
  readonly signal: AbortSignal;
  readonly waitBeforeRetry: WaitBeforeRetry;
  countRequest(): void;
}

/** Waits this many milliseconds, or until the signal aborts. Resolves to false if the call is not to be repeated. */
export type WaitBeforeRetry = (ms: number, signal: AbortSignal) => Promise<boolean>;

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
      /** Somebody else repeats the call later: the failure is no proof that the service is down. */
      readonly isHandedOn?: boolean;
    }
  /** Not attempted, or not attempted again, because the run is ending. */
  | { readonly kind: "interrupted"; readonly mayHaveHappened: boolean };

/** Makes a call, and repeats it as `CallAttempts` decides. Rejects with LEASE_LOST. */
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
    if (signal.aborted && !mustBeMade) {
      throttle.withdraw(call);
      return { kind: "interrupted", mayHaveHappened: attempts.mayHaveHappened };
    }
    const sentAt = clock.monotonic();
    try {
      context.lease.assertHeld();
      context.countRequest();
      isMade = true;
      // Check the lease again right before the request is sent: the process may have been suspended meanwhile.
      const answer = await request(() => context.lease.assertHeld());
      throttle.ended(call);
      context.retries.answered();
      return { kind: "answered", answer, mayHaveBeenSent: attempts.mayHaveHappened };
    } catch (error) {
      if (!(error instanceof ServiceFailure)) {
        throttle.withdraw(call);
        throw error;
      }
      const { waitMs, feedback } = attempts.failed(error, clock.monotonic() - sentAt);
      throttle.ended(call, error, feedback);
      const failed = { kind: "failed", failure: error, mayHaveHappened: attempts.mayHaveHappened } as const;
      if (waitMs === undefined) return failed;
      if (waitMs > 0 && !(await context.waitBeforeRetry(waitMs, signal)))
        return { ...failed, isHandedOn: true };
    }
  }
}
