import { LearnedConcurrency } from "./learned-concurrency.ts";
import { LearnedRate, RATE_EVIDENCE } from "./learned-rate.ts";
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
  /** The limit that the refusal is put down to; or the call itself. */
  readonly suspect: "rate" | "concurrency" | "call";
  readonly since: number;
  readonly until: number;
}

/** How a call was refused for now. */
export interface Refusal {
  /** For how long the service asked to be left alone; 0 where it didn't say. */
  readonly retryAfterMs: number;
  /** Others passed meanwhile, and it is refused again: for its own sake, it seems. */
  readonly isOwn: boolean;
}

/** The pause where the service doesn't say how long, in milliseconds. */
const FIRST_BACKOFF = 1_000;
const LONGEST_BACKOFF = 60_000;
const BACKOFF_GROWTH = 1.6;
/** Pauses are named in whole seconds: a shorter one doesn't tell a rate. */
const TELLING_PAUSE = 1_500;

/**
 * Learns what a service allows, so many calls in flight and so many in a time, from what it lets through and what it
 * refuses.
 *
 * It begins with one call in flight, doubles that with every round that passes, and keeps to no rate. A refusal (429,
 * 503) is put down to the calls in flight, unless as many have passed before: then to the rate. If it was the calls in
 * flight, there are fewer from then on. If it was the rate, or if the service says `Retry-After`, there is a pause: for
 * as long as the service says, else a backoff with jitter. One call, the probe, then shows whether the pause is over.
 * Once it passes, the rate to begin with is the calls that passed since the pause before, by the time that they took,
 * this pause included; from then on calls are spaced evenly. Both limits are searched for in the same way (see
 * LimitSearch): halfway between what passed and what was refused, and now and then beyond what was found, for a service
 * may change its mind. A timeout counts as too many calls in flight. Refusals by
 * chance tell of no limit: a rate that was lowered thrice in vain is what it was before, and a call that is refused again
 * and again though others pass meanwhile has its pause, and that is all.
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
  #backoffMs = FIRST_BACKOFF;
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
    if (until - since < TELLING_PAUSE || this.#span.passes < RATE_EVIDENCE) return undefined;
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

  /** A call begins: not before `dueAt()`, unless it has to be made in any case. */
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

  /** The service refused it for now. */
  refused(call: Call, now: number, { retryAfterMs, isOwn }: Refusal, random: () => number): void {
    this.ended(call, now);
    const suspect = isOwn
      ? (this.#pause?.suspect ?? "call")
      : call.isProbe || this.#concurrency.isProven(call.load)
        ? "rate"
        : "concurrency";
    if (this.#pause && !call.isProbe) {
      // Calls that were under way together are refused together. That is one refusal, with the longest of their pauses,
      // and put down to the rate if any of them is.
      this.#pause = {
        suspect: suspect === "rate" ? suspect : this.#pause.suspect,
        since: this.#pause.since,
        until: Math.max(this.#pause.until, now + retryAfterMs),
      };
      return;
    }
    if (suspect === "rate") {
      this.#concurrency.forgetPasses();
    } else if (suspect === "concurrency") {
      this.#concurrency.refused(call.load, retryAfterMs, now);
      // There is room again as soon as another call ends.
      if (retryAfterMs === 0) return;
    }
    const ms = retryAfterMs || this.#backoffMs * (0.8 + random() / 5);
    this.#backoffMs = Math.min(LONGEST_BACKOFF, this.#backoffMs * BACKOFF_GROWTH);
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
    this.#backoffMs = FIRST_BACKOFF;
    if (suspect === "rate" && this.#span) {
      // The probe itself belongs to what comes.
      const passes = this.#span.passes - 1;
      this.#rate.learn({ passes, ms: at - this.#span.since, pauseMs: at - since }, now);
    }
    this.#span = { since: at, passes: 1 };
    this.#nextStart = at + this.#rate.spacing;
  }
}
