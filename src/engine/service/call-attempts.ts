import { LONGEST_TRY, MAX_ATTEMPTS, waitBeforeAttempt } from "../../core/failure/backoff.ts";
import type { ServiceFailure } from "../../core/failure/service-failure.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Observe } from "../../ports/observer.ts";
import type { Breaker } from "./breaker.ts";
import type { RunRetries } from "./run-retries.ts";
import type { LimitFeedback } from "./throttle.ts";

export interface CallAttemptsContext {
  readonly clock: Clock;
  readonly breaker: Breaker;
  readonly retries: RunRetries;
  readonly observe: Observe;
  /** This call completes an earlier call. It is made even if the retry budget is used up or the run is ending. */
  readonly isFollowUp?: boolean;
  /** If an attempt may have had its effect, no other attempt follows. */
  readonly isUnrepeatable?: boolean;
  /** Any failure is repeated after these pauses, in milliseconds, unless the service asks for a longer one. */
  readonly repeatedAfter?: readonly number[] | undefined;
}

interface NextAttempt {
  /** Milliseconds before the next attempt; undefined if the call has failed for good. */
  readonly waitMs: number | undefined;
  /** What the throttle may conclude from the failure. */
  readonly feedback: LimitFeedback;
}

/**
 * The attempts at one call of the service. Decides after each failure whether another attempt follows, and after which pause.
 *
 * This is the lowest retry of a service call: most failures pass within seconds, and the group should not wait for the
 * next sync. The run's `RunRetries` bound the repeated requests of all calls together. The layer above is the group's own
 * backoff over several runs (core/failure/backoff.ts).
 */
export class CallAttempts {
  readonly #id: string;
  readonly #context: CallAttemptsContext;
  /** Includes the attempt under way. */
  #count = 1;
  #triedMs = 0;
  #mayHaveHappened = false;
  /** How many calls the service had served when it last deferred this call. */
  #servedBefore: number | undefined;

  constructor(id: string, context: CallAttemptsContext) {
    this.#id = id;
    this.#context = context;
  }

  /** Whether one of the attempts may have had its effect. */
  get mayHaveHappened(): boolean {
    return this.#mayHaveHappened;
  }

  /** Takes the failure of the last attempt and its duration in milliseconds, and decides what follows. */
  failed(failure: ServiceFailure, tookMs: number): NextAttempt {
    this.#mayHaveHappened ||= failure.mayHaveHappened;
    const { repeatedAfter } = this.#context;
    if (repeatedAfter) return this.#repeat(failure, repeatedAfter[this.#count - 1]);
    if (this.#isRandomRefusal(failure)) return { waitMs: this.#retry(failure), feedback: "none" };
    if (failure.reaction === "slow") return this.#defer(failure);
    this.#triedMs += tookMs;
    const isSpent = this.#count >= MAX_ATTEMPTS || this.#triedMs >= LONGEST_TRY;
    const isRepeated =
      failure.reaction === "retry" && !isSpent && !this.#mustBeLast && this.#isWithinBudget();
    return { waitMs: isRepeated ? this.#retry(failure) : undefined, feedback: "limits" };
  }

  #repeat(failure: ServiceFailure, pauseMs: number | undefined): NextAttempt {
    // What is asked next shows whether the limit is of this call alone.
    const feedback = failure.reaction === "slow" ? "none" : "limits";
    if (pauseMs === undefined || (failure.retryAfterMs ?? 0) > pauseMs)
      return { waitMs: undefined, feedback };
    this.#tellRetry(failure, pauseMs);
    return { waitMs: pauseMs, feedback };
  }

  /** Whether to repeat the call without learning a limit: a 503 without Retry-After is more often a proxy in trouble. */
  #isRandomRefusal({ code, retryAfterMs }: ServiceFailure): boolean {
    if (code !== "OVERLOADED" || retryAfterMs !== undefined || !this.#context.retries.mayBeRandom())
      return false;
    return this.#count < MAX_ATTEMPTS && !this.#mustBeLast && this.#isWithinBudget();
  }

  /**
   * The service deferred the call. A 429 counts as no attempt, because the call only waits until the limit allows it. But if
   * other calls were served meanwhile, the reason seems to lie in this call, and the 429 counts. A 503 always counts.
   */
  #defer({ code, retryAfterMs = 0 }: ServiceFailure): NextAttempt {
    const { breaker, clock, retries } = this.#context;
    const wasOvertaken = this.#servedBefore !== undefined && breaker.served > this.#servedBefore;
    this.#servedBefore = breaker.served;
    const isOwn = wasOvertaken && this.#count > 1;
    const isAttempt = code === "OVERLOADED" || wasOvertaken;
    const isSpent = isAttempt && this.#count >= MAX_ATTEMPTS;
    if (isAttempt) this.#count++;
    const isHopeless = breaker.deferred({
      group: this.#id,
      now: clock.monotonic(),
      at: clock.now(),
      askedMs: retryAfterMs,
      hasAnswered: retries.hasAnswered,
    });
    const feedback = isHopeless ? "given up" : isOwn ? "pause" : "limits";
    return { waitMs: isSpent || isHopeless || this.#mustBeLast ? undefined : 0, feedback };
  }

  #retry(failure: ServiceFailure): number {
    const { clock } = this.#context;
    const waitMs = waitBeforeAttempt(this.#count + 1, () => clock.random());
    this.#tellRetry(failure, waitMs);
    this.#triedMs += waitMs;
    return waitMs;
  }

  #tellRetry({ code, message }: ServiceFailure, waitMs: number): void {
    const attempt = ++this.#count;
    this.#context.observe({ kind: "retry", user_group_id: this.#id, code, message, attempt, waitMs });
  }

  get #mustBeLast(): boolean {
    return this.#context.isUnrepeatable === true && this.#mayHaveHappened;
  }

  #isWithinBudget(): boolean {
    return this.#context.isFollowUp === true || this.#context.retries.mayRetry();
  }
}
