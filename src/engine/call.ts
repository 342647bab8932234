import { ServiceFailure } from "../core/service-failure.ts";
import { Attempts, type AttemptsContext } from "./attempts.ts";
import type { HeldLease } from "./lease.ts";
import type { Throttle } from "./throttle.ts";

export interface CallContext extends AttemptsContext {
  readonly throttle: Throttle;
  readonly lease: HeldLease;
  /** No further attempt starts once it aborts; but a follow-up is made once all the same. */
  readonly signal: AbortSignal;
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
  const { clock, throttle, signal } = context;
  const attempts = new Attempts(id, context);
  let isMade = false;
  for (;;) {
    const call = await throttle.ready(signal);
    // Once only: a service that asks for patience would be asked without end, for nothing waits when a run is ending.
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
      // Asked again when it leaves: a process may be stopped for long between here and there.
      const answer = await request(() => context.lease.assertHeld());
      throttle.ended(call);
      context.retries.answered();
      return { kind: "answered", answer, mayHaveBeenSent: attempts.mayHaveHappened };
    } catch (error) {
      if (!(error instanceof ServiceFailure)) {
        throttle.withdraw(call);
        throw error;
      }
      const { waitMs, lesson } = attempts.failed(error, clock.monotonic() - sentAt);
      throttle.ended(call, error, lesson);
      if (waitMs === undefined) {
        return { kind: "failed", failure: error, mayHaveHappened: attempts.mayHaveHappened };
      }
      if (waitMs > 0) await clock.sleep(waitMs, signal);
    }
  }
}
