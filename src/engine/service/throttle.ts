import type { ServiceFailure } from "../../core/failure/service-failure.ts";
import { AdaptiveLimiter, type Call, type Ceilings } from "../../core/limits/adaptive-limiter.ts";
import { Overlaps } from "../../core/limits/overlaps.ts";
import { quantity, rateText } from "../../core/text/quantity.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Observe } from "../../ports/observer.ts";

/** Shorter waits are not reported. In milliseconds. */
const LEAST_REPORTED_PAUSE = 500;
const LEAST_REPORTED_SPACING = 5_000;
/** How long calls have been waiting before that is reported, and how long it takes until the next report. In milliseconds. */
const QUEUE_REPORTED_EVERY = 30_000;

/** Calls that are overdue start this much closer together than the rate says. */
const LEAST_SPACING = 0.8;

/** Which of the calls that wait starts first: a lower number before a higher one. */
export const PRIORITY = { newTenant: 0, changedTenant: 1, fullSync: 2 } as const;
export type Priority = (typeof PRIORITY)[keyof typeof PRIORITY];

interface Waiter {
  readonly priority: Priority;
  readonly signal: AbortSignal;
  readonly admit: (call: Call) => void;
}

/**
 * Holds calls back until the ceilings and the service allow them, in the order of their priority and then in the order in
 * which they came. {@link AdaptiveLimiter} decides when a call is allowed; read it first. This class has the queue, the
 * timer, and the reports about waiting.
 */
export class Throttle {
  readonly #clock: Clock;
  readonly #observe: Observe;
  readonly #limits: AdaptiveLimiter;
  /** One abort listener for each signal that a waiting call has. */
  readonly #listeners = new Map<AbortSignal, () => void>();
  #waiting: Waiter[] = [];
  #alarm: { readonly at: number; readonly off: AbortController } | undefined;
  /** When the last call started, by the monotonic clock. */
  #startedAt = Number.NEGATIVE_INFINITY;
  /** When the last reported wait ends, by the monotonic clock. */
  #reportedUntil = 0;
  /** Since when calls have been waiting without a break, or when that was last reported. */
  #queuedSince: number | undefined;
  #hasAnswered = false;
  /** The groups that the service has refused since the pause began. */
  readonly #refused = new Set<string>();
  readonly #overlaps = new Overlaps();

  constructor(clock: Clock, observe: Observe, ceilings: Ceilings) {
    this.#clock = clock;
    this.#observe = observe;
    this.#limits = new AdaptiveLimiter(ceilings);
  }

  /** Resolves when the next call may start, or as soon as the signal aborts. The caller then calls `ended` or `withdraw`. */
  async ready(signal: AbortSignal, priority: Priority = PRIORITY.fullSync): Promise<Call> {
    const now = this.#clock.monotonic();
    const isNext = this.#waiting.length === 0 && this.#startAt() <= now;
    if (isNext || signal.aborted) return this.#start(now);
    this.#listen(signal);
    return new Promise((admit) => {
      const later = this.#waiting.findIndex((waiter) => waiter.priority > priority);
      this.#waiting.splice(later === -1 ? this.#waiting.length : later, 0, { priority, signal, admit });
      this.#admit();
    });
  }

  /** Whether any call of this run was answered well. */
  get hasAnswered(): boolean {
    return this.#hasAnswered;
  }

  /** Whether the service has asked to wait. The pause ends early if a call passes: then it was meant for one group. */
  get isPaused(): boolean {
    return this.#limits.pausedUntil !== undefined;
  }

  /** Whether the pause is of more than one group: several were refused, or calls of others wait here for its end. */
  get isPausedForSeveral(): boolean {
    return this.isPaused && (this.#refused.size > 1 || this.#waiting.length > 0);
  }

  /** Takes the end of a group's call, with its failure if it failed. */
  ended(call: Call, failure?: ServiceFailure, group = ""): void {
    const now = this.#clock.monotonic();
    this.#hasAnswered ||= failure === undefined;
    if (failure?.reaction === "slow") {
      if (!this.isPaused) this.#refused.clear();
      this.#refused.add(group);
      this.#limits.refused(call, now, failure.retryAfterMs ?? 0, () => this.#clock.random());
      if (failure.retryAfterMs === undefined) this.#warnOfOverlaps(call, now);
    } else if (failure?.code === "TIMEOUT" || failure?.code === "UNREACHABLE") {
      this.#limits.ended(call, now);
    } else {
      this.#limits.passed(call, now);
      this.#overlaps.passed(call);
    }
    this.#admit();
  }

  /** The call was not sent, or its end says nothing about limits. */
  withdraw(call: Call): void {
    this.#limits.ended(call, this.#clock.monotonic());
    this.#admit();
  }

  #admit(): void {
    for (;;) {
      const [next] = this.#waiting;
      const startAt = next ? this.#startAt() : Number.POSITIVE_INFINITY;
      if (next === undefined || startAt > this.#clock.monotonic()) {
        if (next === undefined) this.#stopListening();
        this.#wakeAt(startAt);
        this.#reportWait(startAt);
        this.#reportQueue();
        return;
      }
      this.#waiting.shift();
      // Start from the due time. The clock is later, and the rate would lose that difference with every call.
      next.admit(this.#start(this.#limits.dueAt()));
    }
  }

  /**
   * When the next call may start. After a halt of this process, calls that are overdue don't all start at once. In a pause only
   * one is tried, and the rate doesn't hold it back: a pause that turns out to be one tenant's has told no rate.
   */
  #startAt(): number {
    if (this.#limits.pausedUntil !== undefined) return this.#limits.dueAt();
    return Math.max(this.#limits.dueAt(), this.#startedAt + LEAST_SPACING * this.#limits.spacing);
  }

  #start(at: number): Call {
    this.#startedAt = this.#clock.monotonic();
    return this.#limits.start(at);
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

  #reportWait(due: number): void {
    const { pausedUntil, inFlight } = this.#limits;
    // Calls still under way may change the length of the pause.
    if (pausedUntil !== undefined && inFlight > 0) return;
    // Report a pause even if no call waits here: those that were refused wait elsewhere.
    const until = pausedUntil ?? due;
    const ms = until - this.#clock.monotonic();
    if (until === Number.POSITIVE_INFINITY || until < this.#reportedUntil + LEAST_REPORTED_PAUSE) return;
    if (ms < (pausedUntil === undefined ? LEAST_REPORTED_SPACING : LEAST_REPORTED_PAUSE)) return;
    this.#reportedUntil = until;
    this.#observe({ kind: "waiting", ms, reason: this.#reason() });
  }

  /** A call ends at the latest when it times out, so this is asked often enough without a timer. */
  #reportQueue(): void {
    const now = this.#clock.monotonic();
    const calls = this.#waiting.length;
    if (calls === 0) this.#queuedSince = undefined;
    else this.#queuedSince ??= now;
    if (this.#queuedSince === undefined || now - this.#queuedSince < QUEUE_REPORTED_EVERY) return;
    this.#queuedSince = now;
    this.#observe({ kind: "queued", calls, reason: this.#reason() });
  }

  /** What the next call waits for. */
  #reason(): string {
    const { pausedUntil, inFlight, perSecond } = this.#limits;
    if (perSecond !== undefined) return `the service allows about ${rateText(perSecond)}`;
    if (pausedUntil !== undefined) return "the service asked to slow down";
    return Number.isFinite(this.#limits.dueAt())
      ? "service.rate_limit allows no more"
      : `${quantity(inFlight, "call")} ${inFlight === 1 ? "is" : "are"} under way, as many as may be`;
  }

  /** A service that limits how many calls it takes at once can't say when to call again, so the refusal has no Retry-After. */
  #warnOfOverlaps(refused: Call, now: number): void {
    const most = this.#overlaps.refused(refused, now);
    if (most === undefined) return;
    this.#observe({
      kind: "warning",
      code: "TOO_MANY_AT_ONCE",
      message: `the service seems to take no more than ${quantity(most, "call")} at once: it refuses those that begin while ${most === 1 ? "another one is" : `${most} others are`} under way`,
      hint: `set service.concurrency to ${most}; until then the calls are spaced instead, which is slower`,
    });
  }

  #listen(signal: AbortSignal): void {
    if (this.#listeners.has(signal)) return;
    const listener = (): void => this.#release(signal);
    this.#listeners.set(signal, listener);
    signal.addEventListener("abort", listener);
  }

  #stopListening(): void {
    for (const [signal, listener] of this.#listeners) signal.removeEventListener("abort", listener);
    this.#listeners.clear();
  }

  #release(signal: AbortSignal): void {
    const now = this.#clock.monotonic();
    const leaving = this.#waiting.filter((waiter) => waiter.signal === signal);
    this.#waiting = this.#waiting.filter((waiter) => waiter.signal !== signal);
    for (const { admit } of leaving) admit(this.#start(now));
    this.#admit();
  }
}
