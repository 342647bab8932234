import { AdaptiveConcurrency } from "./adaptive-concurrency.ts";
import { AdaptiveRate, RATE_EVIDENCE } from "./adaptive-rate.ts";
import type { LimitSearch } from "./limit-search.ts";
import type { RateLimit } from "./rate-limit.ts";

/** Limits from the config, which are never exceeded, whatever the service allows. */
export interface Ceilings {
  /** Most calls in flight. */
  readonly concurrency: number;
  readonly rateLimit?: RateLimit | undefined;
}

/** A call in flight. */
export interface Call {
  readonly startedAt: number;
  /** How many others were in flight when it began. */
  readonly load: number;
  /** The limits in force when it began: its answer says something about these limits, not about newer ones. */
  readonly concurrency: LimitSearch;
  /** Whether no place was left after this call began. Only then does its success show that the limit is safe. */
  readonly tookLastPlace: boolean;
  /** Undefined if it didn't have to wait for its turn. */
  readonly rate: LimitSearch | undefined;
  /** It is the one call that finds out whether a pause is over. */
  readonly isProbe: boolean;
}

/** No call starts before `until`. After that, only a probe starts until it is answered. */
interface Pause {
  /** The limit to which the refusal is attributed, or the call itself. */
  readonly suspect: "rate" | "concurrency" | "call";
  readonly since: number;
  readonly until: number;
}

/** How the service refused a call for now. */
export interface Refusal {
  /** The pause that the service asked for, in milliseconds; 0 if it named none. */
  readonly retryAfterMs: number;
  /** The same call was refused before and other calls passed in between, so the reason seems to be this call. */
  readonly isOwn: boolean;
  /** The call is given up, because it was refused for too long. */
  readonly isLast: boolean;
}

/** The first pause if the service names none, in milliseconds. */
const FIRST_BACKOFF = 1_000;
const LONGEST_BACKOFF = 60_000;
const BACKOFF_GROWTH = 1.6;
/** Milliseconds. Services round pauses to whole seconds, so no rate can be measured from a shorter pause. */
const TELLING_PAUSE = 1_500;

/**
 * Learns from answers and refusals how many calls in flight, and how many calls a second, a service allows.
 *
 * It begins with one call in flight and without a rate, and doubles the calls in flight with every round that passes. A
 * refusal (429, 503) is attributed to the calls in flight, unless as many have passed before: then to the rate.
 *
 * - Refused for the calls in flight: fewer calls are allowed from now on. A timeout counts as such a refusal.
 * - Refused for the rate, or with `Retry-After`: a pause, as long as the service says, else a backoff with jitter. After
 *   the pause one call is sent, the probe. Once the probe passes, the rate is the number of calls since the pause before,
 *   divided by the time since then, this pause included. From then on calls are spaced evenly.
 *
 * Both limits are then searched for in the same way (see LimitSearch): halfway between what passed and what was refused,
 * and now and then above the limit that was found, because a service may allow more later.
 *
 * Random refusals must not lower the limits. If lowering the rate three times didn't help, the former rate is restored.
 * If a call is refused again although others passed in between, there is a pause and neither limit changes. Neither limit
 * changes either if a call was refused until it was given up, and the next call passes: the pause was that call's alone.
 *
 * Invariants: no more calls are in flight than the ceiling; calls begin no closer together than the rate's ceiling
 * allows; no call begins in a pause that the service asked for; and there is always a next call to start, or a call in
 * flight.
 *
 * Times are milliseconds of one clock that never runs backwards.
 */
export class AdaptiveLimiter {
  readonly #concurrency: AdaptiveConcurrency;
  readonly #rate: AdaptiveRate;
  readonly #inFlight = new Set<Call>();
  #nextStart = 0;
  /** When a place for another call became free. */
  #roomSince = 0;
  #pause: Pause | undefined;
  #backoffMs = FIRST_BACKOFF;
  /** How many calls passed since the last pause ended. */
  #span: { readonly since: number; passes: number } | undefined;

  constructor({ concurrency, rateLimit }: Ceilings) {
    this.#concurrency = new AdaptiveConcurrency(concurrency);
    this.#rate = new AdaptiveRate(rateLimit ? rateLimit.count / rateLimit.perMs : Number.POSITIVE_INFINITY);
  }

  get isPaused(): boolean {
    return this.#pause !== undefined;
  }

  get inFlight(): number {
    return this.#inFlight.size;
  }

  /** Calls per second that the service seems to allow; undefined as long as nothing shows it. */
  get perSecond(): number | undefined {
    if (this.#rate.search) return this.#rate.search.passed * 1000;
    if (this.#pause?.suspect !== "rate" || this.#span === undefined) return undefined;
    const { since, until } = this.#pause;
    if (until - since < TELLING_PAUSE || this.#span.passes < RATE_EVIDENCE) return undefined;
    return (this.#span.passes * 1000) / (until - this.#span.since);
  }

  /** When the next call may begin, in the past or in the future; Infinity if another call has to end first. */
  dueAt(): number {
    if (this.#inFlight.size >= this.#concurrency.most) return Number.POSITIVE_INFINITY;
    const due = Math.max(this.#nextStart, this.#roomSince);
    if (this.#pause === undefined) return due;
    for (const { isProbe } of this.#inFlight) if (isProbe) return Number.POSITIVE_INFINITY;
    return Math.max(due, this.#pause.until);
  }

  /** A call begins. Call it not before `dueAt()`, unless the call has to be made in any case. */
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

  /** The service took the call, whatever it answered. */
  passed(call: Call, now: number): void {
    this.ended(call, now);
    if (this.#span) this.#span.passes++;
    this.#concurrency.passed(call.load, call.concurrency, call.tookLastPlace, now);
    if (call.isProbe && this.#pause) this.#resume(this.#pause, call.startedAt, now);
    else if (call.rate) this.#rate.passed(call.rate, now);
  }

  /** The service refused the call for now. */
  refused(call: Call, now: number, { retryAfterMs, isOwn, isLast }: Refusal, random: () => number): void {
    this.ended(call, now);
    const suspect = isLast ? "call" : this.#suspectOf(call, isOwn);
    if (this.#pause && !call.isProbe) {
      // Calls that are in flight together are refused together. Count them as one refusal, with the longest of their
      // pauses, and attribute it to the rate if any of them is.
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
      // No pause is needed: the next call starts when another one ends.
      if (retryAfterMs === 0) return;
    }
    const ms = retryAfterMs || this.#backoffMs * (0.8 + random() / 5);
    this.#backoffMs = Math.min(LONGEST_BACKOFF, this.#backoffMs * BACKOFF_GROWTH);
    this.#pause = { suspect, since: this.#pause?.since ?? now, until: now + ms };
  }

  #suspectOf({ isProbe, load }: Call, isOwn: boolean): Pause["suspect"] {
    if (isOwn) return this.#pause?.suspect ?? "call";
    return isProbe || this.#concurrency.isProven(load) ? "rate" : "concurrency";
  }

  /** The call timed out: the service seems to be overloaded. */
  timedOut(call: Call, now: number): void {
    this.ended(call, now);
    this.#concurrency.timedOut(call.startedAt, now);
  }

  /** The call ended in a way that says nothing about limits. */
  ended(call: Call, now: number): void {
    if (call.isProbe || this.#inFlight.size >= this.#concurrency.most) this.#roomSince = now;
    this.#inFlight.delete(call);
  }

  /** Ends the pause: the probe that began at `at` passed. */
  #resume({ suspect, since }: Pause, at: number, now: number): void {
    this.#pause = undefined;
    this.#backoffMs = FIRST_BACKOFF;
    if (suspect === "rate" && this.#span) {
      // The probe belongs to the next span.
      const passes = this.#span.passes - 1;
      this.#rate.learn({ passes, ms: at - this.#span.since, pauseMs: at - since }, now);
    }
    this.#span = { since: at, passes: 1 };
    this.#nextStart = at + this.#rate.spacing;
  }
}
