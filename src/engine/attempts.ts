import { LONGEST_TRY, MAX_ATTEMPTS, waitBeforeAttempt } from "../core/backoff.ts";
import type { ServiceFailure } from "../core/service-failure.ts";
import type { Clock } from "../ports/clock.ts";
import type { Observe } from "../ports/observer.ts";
import type { Breaker } from "./breaker.ts";
import type { Retries } from "./retries.ts";
import type { Lesson } from "./throttle.ts";

export interface AttemptsContext {
  readonly clock: Clock;
  readonly breaker: Breaker;
  readonly retries: Retries;
  readonly observe: Observe;
  /** What came before it must not be left half done, for want of a budget or because the run is ending. */
  readonly isFollowUp?: boolean;
  /** An attempt that may have had its effect is the last. */
  readonly isUnrepeatable?: boolean;
}

export interface Next {
  /** Milliseconds before the call asks for its turn again; undefined where it has failed. */
  readonly waitMs: number | undefined;
  /** What the throttle can learn from the failure. */
  readonly lesson: Lesson;
}

/** The attempts at one call, and whether there is another. */
export class Attempts {
  readonly #id: string;
  readonly #context: AttemptsContext;
  /** The one under way included. */
  #count = 1;
  #triedMs = 0;
  #mayHaveHappened = false;
  /** How many calls had been served when this one was put off the last time. */
  #servedBefore: number | undefined;

  constructor(id: string, context: AttemptsContext) {
    this.#id = id;
    this.#context = context;
  }

  /** One of them may have had its effect. */
  get mayHaveHappened(): boolean {
    return this.#mayHaveHappened;
  }

  /** The last one has failed, and took so long. */
  failed(failure: ServiceFailure, tookMs: number): Next {
    this.#mayHaveHappened ||= failure.mayHaveHappened;
    if (this.#isHiccup(failure)) return { waitMs: this.#retry(failure), lesson: "none" };
    if (failure.reaction === "slow") return this.#putOff(failure);
    this.#triedMs += tookMs;
    const isSpent = this.#count >= MAX_ATTEMPTS || this.#triedMs >= LONGEST_TRY;
    const isRepeated =
      failure.reaction === "retry" && !isSpent && !this.#mustBeLast && this.#isWithinBudget();
    return { waitMs: isRepeated ? this.#retry(failure) : undefined, lesson: "limits" };
  }

  /** A 503 that doesn't say when to come back is a proxy's trouble more often than a limit. */
  #isHiccup({ code, retryAfterMs }: ServiceFailure): boolean {
    if (code !== "OVERLOADED" || retryAfterMs !== undefined || !this.#context.retries.mayBeChance())
      return false;
    return this.#count < MAX_ATTEMPTS && !this.#mustBeLast && this.#isWithinBudget();
  }

  /** While a limit is used up a call waits for its turn. One that others pass by is refused for its own sake. */
  #putOff({ code, retryAfterMs = 0 }: ServiceFailure): Next {
    const { breaker, clock, retries } = this.#context;
    const isPassedBy = this.#servedBefore !== undefined && breaker.served > this.#servedBefore;
    this.#servedBefore = breaker.served;
    const lesson = isPassedBy && this.#count > 1 ? "pause" : "limits";
    const isAttempt = code === "OVERLOADED" || isPassedBy;
    const isSpent = isAttempt && this.#count >= MAX_ATTEMPTS;
    if (isAttempt) this.#count++;
    const isHopeless = breaker.deferred({
      group: this.#id,
      now: clock.monotonic(),
      at: clock.now(),
      askedMs: retryAfterMs,
      hasAnswered: retries.hasAnswered,
    });
    return { waitMs: isSpent || isHopeless || this.#mustBeLast ? undefined : 0, lesson };
  }

  #retry({ code, message }: ServiceFailure): number {
    const { clock, observe } = this.#context;
    const attempt = ++this.#count;
    const waitMs = waitBeforeAttempt(attempt, () => clock.random());
    observe({ kind: "retry", user_group_id: this.#id, code, message, attempt, waitMs });
    this.#triedMs += waitMs;
    return waitMs;
  }

  get #mustBeLast(): boolean {
    return this.#context.isUnrepeatable === true && this.#mayHaveHappened;
  }

  #isWithinBudget(): boolean {
    return this.#context.isFollowUp === true || this.#context.retries.mayRetry();
  }
}
