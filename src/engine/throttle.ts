import { rateText } from "../core/progress.ts";
import type { ServiceFailure } from "../core/service-failure.ts";
import { type Call, type Ceilings, ServiceLimits } from "../core/service-limits.ts";
import type { Clock } from "../ports/clock.ts";
import type { Observe } from "../ports/observer.ts";

/** Shorter waits are not worth a line. */
const TOLD_PAUSE = 500;
const TOLD_SPACING = 5_000;

/** What a failed call tells: of the service's limits, or for how long to leave it alone and no more, or nothing. */
export type Lesson = "limits" | "pause" | "none";

interface Waiter {
  readonly signal: AbortSignal;
  readonly admit: (call: Call) => void;
}

/**
 * Holds calls back until the ceilings and the service allow them, first come, first served. When that is, and how it is
 * learned, stands in {@link ServiceLimits}: read that first. Here are the queue, the alarm clock, and the waits as they
 * are told.
 */
export class Throttle {
  readonly #clock: Clock;
  readonly #observe: Observe;
  readonly #limits: ServiceLimits;
  /** One listener for a signal, however many calls wait with it, and none where none waits. */
  readonly #listeners = new Map<AbortSignal, () => void>();
  #waiting: Waiter[] = [];
  #alarm: { readonly at: number; readonly off: AbortController } | undefined;
  /** The end of the last wait that was told. */
  #toldUntil = 0;

  constructor(clock: Clock, observe: Observe, ceilings: Ceilings) {
    this.#clock = clock;
    this.#observe = observe;
    this.#limits = new ServiceLimits(ceilings);
  }

  /** Resolves when the next call may start, or as soon as the signal aborts; then tell what becomes of the call. */
  async ready(signal: AbortSignal): Promise<Call> {
    const now = this.#clock.monotonic();
    const isNext = this.#waiting.length === 0 && this.#limits.dueAt() <= now;
    if (isNext || signal.aborted) return this.#limits.start(now);
    this.#listen(signal);
    return new Promise((admit) => {
      this.#waiting.push({ signal, admit });
      this.#admit();
    });
  }

  /** The call was answered, or failed. */
  ended(call: Call, failure?: ServiceFailure, lesson: Lesson = "limits"): void {
    const now = this.#clock.monotonic();
    if (lesson === "none") {
      this.#limits.ended(call, now);
    } else if (failure?.reaction === "slow") {
      const refusal = { retryAfterMs: failure.retryAfterMs ?? 0, isOwn: lesson === "pause" };
      this.#limits.refused(call, now, refusal, () => this.#clock.random());
    } else if (failure?.code === "TIMEOUT") {
      this.#limits.timedOut(call, now);
    } else if (failure?.code === "UNREACHABLE") {
      this.#limits.ended(call, now);
    } else {
      this.#limits.passed(call, now);
    }
    this.#admit();
  }

  /** The call was not made. */
  withdraw(call: Call): void {
    this.#limits.ended(call, this.#clock.monotonic());
    this.#admit();
  }

  #admit(): void {
    for (;;) {
      const [next] = this.#waiting;
      const due = next ? this.#limits.dueAt() : Number.POSITIVE_INFINITY;
      if (next === undefined || due > this.#clock.monotonic()) {
        if (next === undefined) this.#stopListening();
        this.#wakeAt(due);
        this.#tell(due);
        return;
      }
      this.#waiting.shift();
      // Not the time on the clock, which is a little later: a pace would lose that with every call.
      next.admit(this.#limits.start(due));
    }
  }

  #wakeAt(at: number): void {
    if (this.#alarm?.at === at) return;
    this.#alarm?.off.abort();
    this.#alarm = undefined;
    if (at === Number.POSITIVE_INFINITY) return;
    const ms = at - this.#clock.monotonic();
    const alarm = { at, off: new AbortController() };
    this.#alarm = alarm;
    void this.#clock.sleep(ms, alarm.off.signal).then(() => {
      if (this.#alarm !== alarm) return;
      this.#alarm = undefined;
      this.#admit();
    });
  }

  #tell(until: number): void {
    const { isPaused, inFlight, perSecond } = this.#limits;
    // The calls that are still under way have a say in how long a pause is, and in what is known.
    if (until === Number.POSITIVE_INFINITY || (isPaused && inFlight > 0)) return;
    const ms = until - this.#clock.monotonic();
    if (ms < (isPaused ? TOLD_PAUSE : TOLD_SPACING) || until < this.#toldUntil + TOLD_PAUSE) return;
    this.#toldUntil = until;
    const reason =
      perSecond !== undefined
        ? `the service allows about ${rateText(perSecond)}`
        : isPaused
          ? "the service asked to slow down"
          : "service.rate_limit allows no more";
    this.#observe({ kind: "waiting", ms, reason });
  }

  #listen(signal: AbortSignal): void {
    if (this.#listeners.has(signal)) return;
    const listener = (): void => this.#letGo(signal);
    this.#listeners.set(signal, listener);
    signal.addEventListener("abort", listener);
  }

  #stopListening(): void {
    for (const [signal, listener] of this.#listeners) signal.removeEventListener("abort", listener);
    this.#listeners.clear();
  }

  #letGo(signal: AbortSignal): void {
    const now = this.#clock.monotonic();
    const leaving = this.#waiting.filter((waiter) => waiter.signal === signal);
    this.#waiting = this.#waiting.filter((waiter) => waiter.signal !== signal);
    for (const { admit } of leaving) admit(this.#limits.start(now));
    this.#admit();
  }
}
