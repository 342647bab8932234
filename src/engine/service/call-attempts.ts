import { LONGEST_TRY, MAX_ATTEMPTS, waitBeforeAttempt } from "../../core/failure/backoff.ts";
import type { ServiceFailure } from "../../core/failure/service-failure.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Observe } from "../../ports/observer.ts";
import type { Breaker } from "./breaker.ts";
import type { Throttle } from "./throttle.ts";

/** What the decision about the next attempt depends on. */
export interface AttemptContext {
  readonly clock: Clock;
  readonly breaker: Breaker;
  readonly throttle: Throttle;
  readonly observe: Observe;
  /** This call completes an earlier call, and is made even if the run is ending. */
  readonly isFollowUp?: boolean;
  /** If an attempt may have had its effect, no other attempt follows. */
  readonly isUnrepeatable?: boolean;
  /** Any failure is repeated after these pauses, in milliseconds, unless the service asks for a longer one. */
  readonly repeatedAfter?: readonly number[] | undefined;
}

interface NextAttempt {
  /** Milliseconds before the next attempt; undefined if the call has failed for good. */
  readonly waitMs: number | undefined;
  /** The service has deferred this call, and not because of a limit. */
  readonly isOfThisCall: boolean;
}

/** The attempts at one call of the service. Decides after each failure whether another one follows, and after which pause. */
export class CallAttempts {
  readonly #id: string;
  readonly #context: AttemptContext;
  /** Includes the attempt under way. */
  #count = 1;
  #triedMs = 0;
  #mayHaveHappened = false;
  #deferrals = 0;
  /** How many calls the service had served when it last deferred this call. */
  #servedBefore: number | undefined;
  /** The service has served others between two refusals of this call. No later refusal tells of a limit for all. */
  #isDeferredAlone = false;

  constructor(id: string, context: AttemptContext) {
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
    if (failure.reaction === "slow") return this.#defer(failure);
    this.#triedMs += tookMs;
    const isRepeated =
      failure.reaction === "retry" &&
      this.#count < this.#mostAttempts &&
      this.#triedMs < LONGEST_TRY &&
      !this.#mustBeLast;
    return { waitMs: isRepeated ? this.#retry(failure) : undefined, isOfThisCall: false };
  }

  #repeat(failure: ServiceFailure, pauseMs: number | undefined): NextAttempt {
    // What is asked next shows whether the limit is of this call alone.
    const isOfThisCall = failure.reaction === "slow";
    if (pauseMs === undefined || (failure.retryAfterMs ?? 0) > pauseMs)
      return { waitMs: undefined, isOfThisCall };
    this.#tellRetry(failure, pauseMs);
    return { waitMs: pauseMs, isOfThisCall };
  }

  /**
   * The service deferred the call. A 429 counts as no attempt, because the call only waits until the limit allows it. But if
   * other calls were served meanwhile, the reason seems to lie in this call, and the 429 counts. A 503 always counts.
   */
  #defer({ code, retryAfterMs = 0 }: ServiceFailure): NextAttempt {
    const { breaker, clock, throttle } = this.#context;
    const othersPassed = this.#servedBefore !== undefined && breaker.served > this.#servedBefore;
    this.#servedBefore = breaker.served;
    this.#isDeferredAlone ||= othersPassed;
    this.#deferrals++;
    if (code === "OVERLOADED" || othersPassed) this.#count++;
    const isHopeless = breaker.deferred({
      group: this.#id,
      now: clock.monotonic(),
      at: clock.now(),
      askedMs: retryAfterMs,
      hasAnswered: throttle.hasAnswered,
    });
    const isLast = isHopeless || this.#count > MAX_ATTEMPTS || this.#mustBeLast;
    const waitMs = isLast ? undefined : this.#waitAfterDeferral(retryAfterMs);
    return { waitMs, isOfThisCall: this.#isDeferredAlone };
  }

  /** Undefined if the call alone is deferred, and has waited for as long as it may. */
  #waitAfterDeferral(askedMs: number): number | undefined {
    const random = (): number => this.#context.clock.random();
    // Meanwhile other calls show whether the service defers them too.
    if (!this.#isDeferredAlone) return askedMs || waitBeforeAttempt(Math.max(2, this.#count), random);
    // The throttle knows nothing of the refusal, so only this wait spaces the attempts.
    const waitMs = Math.max(askedMs, waitBeforeAttempt(this.#deferrals, random, LONGEST_TRY));
    this.#triedMs += waitMs;
    return this.#triedMs > LONGEST_TRY ? undefined : waitMs;
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

  /** If nothing was answered in this run, and a call has failed for good, one attempt shows whether the service is still down. */
  get #mostAttempts(): number {
    const { breaker, throttle, isFollowUp } = this.#context;
    return breaker.isFailing && !throttle.hasAnswered && isFollowUp !== true ? 1 : MAX_ATTEMPTS;
  }

  get #mustBeLast(): boolean {
    return this.#context.isUnrepeatable === true && this.#mayHaveHappened;
  }
}
