import { LearnedConcurrency } from "./learned-concurrency.ts";
import { LearnedRate } from "./learned-rate.ts";
import type { LimitSearch } from "./limit-search.ts";
import type { RateLimit } from "./rate-limit.ts";

/** What is never exceeded, whatever the service allows. */
export interface Ceilings {
  /** Most calls in flight. */
  readonly concurrency: number;
  readonly rateLimit?: RateLimit | undefined;
}

/** A call in flight. */
export interface Call {
  readonly startedAt: number;
  /** So many others were in flight when it began. */
  readonly load: number;
  /** What was in force when it began: its answer speaks of that, and of nothing newer. */
  readonly concurrency: LimitSearch;
  readonly tookLastPlace: boolean;
  /** Undefined where it didn't have to wait for its turn. */
  readonly rate: LimitSearch | undefined;
  /** The one call that finds out whether a pause is over. */
  readonly isProbe: boolean;
}

/** No call starts until then, and afterwards only a probe. */
interface Pause {
  /** The limit that the refusal is put down to. */
  readonly suspect: "rate" | "concurrency";
  readonly since: number;
  readonly until: number;
}

/** Where the service doesn't say how long; in milliseconds. */
const FIRST_PAUSE = 1_000;
const LONGEST_PAUSE = 60_000;
const PAUSE_GROWTH = 1.6;
/** A pause, which is named in whole seconds, and calls before it tell something of a rate from here on. */
const TELLING_PAUSE = 1_500;
const TELLING_PASSES = 8;

/**
 * Learns what a service allows from what it lets through and what it refuses: so many calls in flight, and so many in
 * a time. Both are searched for in the same way, and each refusal is put down to one of the two.
 *
 * Always: no more calls are in flight than the ceiling, none begins sooner after the one before than the rate's ceiling
 * has it, nor in a pause that the service asked for; and there is always a next call, or one in flight.
 *
 * Times are milliseconds of one clock that never runs backwards.
 */
export class ServiceLimits {
  readonly #concurrency: LearnedConcurrency;
  readonly #rate: LearnedRate;
  readonly #inFlight = new Set<Call>();
  #nextStart = 0;
  /** Since when there is room for another call. */
  #roomSince = 0;
  #pause: Pause | undefined;
  #nextPauseMs = FIRST_PAUSE;
  /** What has passed since the last pause began to end. */
  #span: { readonly since: number; passes: number } | undefined;

  constructor({ concurrency, rateLimit }: Ceilings) {
    this.#concurrency = new LearnedConcurrency(concurrency);
    this.#rate = new LearnedRate(rateLimit ? rateLimit.count / rateLimit.perMs : Number.POSITIVE_INFINITY);
  }

  get isPaused(): boolean {
    return this.#pause !== undefined;
  }

  get inFlight(): number {
    return this.#inFlight.size;
  }

  /** Calls per second that the service seems to allow; undefined where nothing tells. */
  get perSecond(): number | undefined {
    if (this.#rate.search) return this.#rate.search.passed * 1000;
    if (this.#pause?.suspect !== "rate" || this.#span === undefined) return undefined;
    const { since, until } = this.#pause;
    if (until - since < TELLING_PAUSE || this.#span.passes < TELLING_PASSES) return undefined;
    return (this.#span.passes * 1000) / (until - this.#span.since);
  }

  /** Since when, or from when on, the next call may begin; Infinity where another has to end first. */
  dueAt(): number {
    if (this.#inFlight.size >= this.#concurrency.most) return Number.POSITIVE_INFINITY;
    const due = Math.max(this.#nextStart, this.#roomSince);
    if (this.#pause === undefined) return due;
    for (const { isProbe } of this.#inFlight) if (isProbe) return Number.POSITIVE_INFINITY;
    return Math.max(due, this.#pause.until);
  }

  /** A call begins: not before `dueAt()`, but where it has to be made in any case. */
  start(at: number): Call {
    const load = this.#inFlight.size;
    const call: Call = {
      startedAt: at,
      load,
      concurrency: this.#concurrency.search,
      tookLastPlace: load + 1 >= this.#concurrency.most,
      rate: at <= this.#nextStart ? this.#rate.search : undefined,
      isProbe: this.#pause !== undefined && at >= this.#pause.until,
    };
    this.#inFlight.add(call);
    this.#span ??= { since: at, passes: 0 };
    this.#nextStart = Math.max(at, this.#nextStart) + this.#rate.spacing;
    return call;
  }

  /** The service let it through, whatever it answered then. */
  passed(call: Call, now: number): void {
    this.ended(call, now);
    if (this.#span) this.#span.passes++;
    this.#concurrency.passed(call.load, call.concurrency, call.tookLastPlace, now);
    if (call.isProbe && this.#pause) this.#resume(this.#pause, call.startedAt, now);
    else if (call.rate) this.#rate.passed(call.rate, now);
  }

  /** The service refused it for now. `retryAfterMs` 0 says no more than undefined. */
  refused(call: Call, now: number, retryAfterMs: number | undefined, random: () => number): void {
    this.ended(call, now);
    const suspect = call.isProbe || this.#concurrency.isProven(call.load) ? "rate" : "concurrency";
    if (this.#pause && !call.isProbe) {
      // The calls that were under way together are refused together: that is one refusal, as long as the longest, and
      // put down to the rate where it holds those as well that had few beside them.
      this.#pause = {
        suspect: suspect === "rate" ? suspect : this.#pause.suspect,
        since: this.#pause.since,
        until: Math.max(this.#pause.until, now + (retryAfterMs ?? 0)),
      };
      return;
    }
    if (suspect === "rate") {
      this.#concurrency.distrust();
    } else {
      this.#concurrency.refused(call.load, retryAfterMs ?? 0, now);
      // There is room again as soon as another call ends.
      if (!retryAfterMs) return;
    }
    const ms = retryAfterMs || this.#nextPauseMs * (0.8 + random() / 5);
    this.#nextPauseMs = Math.min(LONGEST_PAUSE, this.#nextPauseMs * PAUSE_GROWTH);
    this.#pause = { suspect, since: this.#pause?.since ?? now, until: now + ms };
  }

  /** The service seems to have more to do than it can. */
  timedOut(call: Call, now: number): void {
    this.ended(call, now);
    this.#concurrency.timedOut(call.startedAt, now);
  }

  /** It ended in a way that says nothing of limits. */
  ended(call: Call, now: number): void {
    if (call.isProbe || this.#inFlight.size >= this.#concurrency.most) this.#roomSince = now;
    this.#inFlight.delete(call);
  }

  /** The probe that began at `at` has passed. */
  #resume({ suspect, since }: Pause, at: number, now: number): void {
    this.#pause = undefined;
    this.#nextPauseMs = FIRST_PAUSE;
    if (suspect === "rate" && this.#span) {
      // The probe itself belongs to what comes.
      const passes = this.#span.passes - 1;
      this.#rate.learn({ passes, ms: at - this.#span.since, pauseMs: at - since }, now);
    }
    this.#rate.restart(now);
    this.#span = { since: at, passes: 1 };
    this.#nextStart = at + this.#rate.spacing;
  }
}
