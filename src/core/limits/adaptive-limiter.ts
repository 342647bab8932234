import type { RateLimit } from "./rate-limit.ts";

/** Limits from the config, which are never exceeded, whatever the service allows. */
export interface Ceilings {
  readonly concurrency: number;
  readonly rateLimit?: RateLimit | undefined;
}

export interface Call {
  readonly startedAt: number;
  /** How many others were in flight when it began. */
  readonly others: number;
  /** It had to wait for the rate. Only then does its success show that the rate passes. */
  readonly isPaced: boolean;
}

interface Rate {
  /** In calls per millisecond. */
  readonly value: number;
  /** Up to this value the rate grows fast, above it slowly. Infinity until a refusal has shown how much is too much. */
  readonly goal: number;
}

/** From a refusal until a call passes that began after it. */
interface Pause {
  readonly since: number;
  /** No call starts before. The same as `since` after a first refusal that names no pause: then the calls go on. */
  readonly until: number;
  /** One call may start at this time, even before `until`. */
  readonly trialAt: number;
  /** When the last refusal came. Calls that began before it show nothing new. */
  readonly refusedAt: number;
  /** How many refusals came one after the other. */
  readonly refusals: number;
  /** The service is known to take no call before this time: that of the last refusal, or the end of the pause it asks for. */
  readonly fullUntil: number;
  readonly formerRate: Rate | undefined;
}

/** The pause that a service asks for may be meant for one tenant. In milliseconds. */
const TRIAL_AFTER = 5_000;
/** The second refusal in a row makes all calls wait for so long, and each further one for twice as long. In milliseconds. */
const FIRST_BACKOFF = 250;
const LONGEST_BACKOFF = 60_000;
/** In milliseconds. Services round pauses up to whole seconds, so a shorter pause doesn't tell the rate. */
const TELLING_PAUSE = 1_500;
/** Fewer calls don't tell the rate either. */
const TELLING_PASSES = 8;
/** A pause that doesn't tell the rate lowers it at most by this factor, and not below one call a second. */
const DECREASE = 0.8;
const LEAST_UNTOLD = 1 / 1_000;
/** A refusal may come by chance. The rate soon gets back to this share of the former one. */
const REGAINED = 0.98;
/** By which share the rate grows in a second without a refusal: below its goal, and above. */
const FAST_INCREASE = 1;
const INCREASE = 0.003;

/**
 * Learns from refusals (429, 503) how many calls a second a service takes. It knows three things: a rate, by which calls
 * are spaced evenly; whether calls pause; and how many calls have passed since the last pause.
 *
 * - Before the first refusal there is no rate, and only the ceilings apply.
 * - A refusal with `Retry-After` pauses all calls for that long. Without `Retry-After`, the first refusal pauses none, and
 *   further refusals in a row pause all calls, each for longer. After a pause one call is tried; if it passes, the others
 *   follow. After 5 s of a long pause one call is tried as well: if it passes, the pause was meant for one tenant, and
 *   the rate is as before.
 * - A refusal lowers the rate to what was measured: the calls that passed since the last pause, divided by the time since
 *   then, this pause included. A service that counts calls in windows or has a token bucket is measured exactly in this
 *   way. A short pause tells less, so it lowers the rate by a fifth at most. Without a refusal, the rate grows slowly.
 * - A refusal without `Retry-After` that comes alone may come by chance, or because too many calls overlapped. The rate
 *   soon gets back to a little less than before.
 *
 * A service that limits how many calls it takes at once is kept to in the same way: evenly spaced calls of a low enough
 * rate don't overlap too much. `service.concurrency` keeps to it more closely.
 *
 * Invariants: no more calls are in flight than the ceiling; calls begin no closer together than the rate's ceiling
 * allows; in a pause no call begins but the one that is tried; and there is always a next call to start, or a call in
 * flight.
 *
 * Times are milliseconds of one clock that never runs backwards.
 */
export class AdaptiveLimiter {
  readonly #concurrency: number;
  /** The shortest time between two calls, by the config. */
  readonly #leastSpacing: number;
  readonly #inFlight = new Set<Call>();
  #rate: Rate | undefined;
  #pause: Pause | undefined;
  /** How many calls passed since the last pause. */
  #span: { readonly since: number; readonly passes: number } | undefined;
  #lastStart = Number.NEGATIVE_INFINITY;
  /** When the next call may begin by the rate. */
  #nextStart = Number.NEGATIVE_INFINITY;
  /** When a place for another call became free. */
  #roomSince = 0;

  constructor({ concurrency, rateLimit }: Ceilings) {
    this.#concurrency = concurrency;
    this.#leastSpacing = rateLimit ? rateLimit.perMs / rateLimit.count : 0;
  }

  get inFlight(): number {
    return this.#inFlight.size;
  }

  /** The end of the pause; undefined if calls don't pause. */
  get pausedUntil(): number | undefined {
    return this.#pause && this.#pause.until > this.#pause.since ? this.#pause.until : undefined;
  }

  /** Calls per second that the service seems to allow; undefined as long as nothing shows it. */
  get perSecond(): number | undefined {
    const { value, goal } = this.#rate ?? NO_RATE;
    return goal === Number.POSITIVE_INFINITY ? undefined : value * 1000;
  }

  /** The time between the starts of two calls, in milliseconds. */
  get spacing(): number {
    return Math.max(this.#leastSpacing, this.#rate === undefined ? 0 : 1 / this.#rate.value);
  }

  /** When the next call may begin, in the past or in the future; Infinity if another call has to end first. */
  dueAt(): number {
    if (this.#inFlight.size >= this.#concurrency) return Number.POSITIVE_INFINITY;
    if (this.#pause === undefined || this.pausedUntil === undefined)
      return Math.max(this.#nextStart, this.#roomSince);
    for (const call of this.#inFlight) if (this.#isTrial(call)) return Number.POSITIVE_INFINITY;
    const { until, trialAt } = this.#pause;
    return Math.max(this.#lastStart + this.#leastSpacing, this.#roomSince, Math.min(until, trialAt));
  }

  /** A call begins. Call it not before `dueAt()`, unless the call has to be made in any case. */
  start(at: number): Call {
    const isPaced = this.#rate !== undefined && at <= this.#nextStart;
    const call: Call = { startedAt: at, others: this.#inFlight.size, isPaced };
    this.#inFlight.add(call);
    this.#span ??= { since: at, passes: 0 };
    this.#lastStart = Math.max(at, this.#lastStart + this.#leastSpacing);
    this.#nextStart = this.#lastStart + this.spacing;
    return call;
  }

  /** The service took the call, whatever it answered. */
  passed(call: Call, now: number): void {
    this.ended(call, now);
    const { startedAt, isPaced } = call;
    const pause = this.#isTrial(call) ? this.#pause : undefined;
    if (pause) this.#endPause(pause, startedAt, now);
    if (this.#span) this.#span = { ...this.#span, passes: this.#span.passes + 1 };
    if (isPaced && !pause) this.#raise();
  }

  /** The service refused the call for now, and asked for a pause of `askedMs` milliseconds; 0 if it named none. */
  refused(call: Call, now: number, askedMs: number, random: () => number): void {
    this.ended(call, now);
    const pause = this.#pause;
    // Calls that are in flight together are refused together: they count once.
    const isNew = pause === undefined || this.#isTrial(call);
    if (!isNew && askedMs === 0) return;
    const refusals = (pause?.refusals ?? 0) + (isNew ? 1 : 0);
    const waitMs = askedMs || backoffAfter(refusals) * (0.8 + random() / 5);
    this.#pause = {
      since: pause?.since ?? now,
      until: Math.max(pause?.until ?? 0, now + waitMs),
      trialAt: pause === undefined && waitMs > TRIAL_AFTER ? now + TRIAL_AFTER : Number.POSITIVE_INFINITY,
      refusedAt: isNew ? now : pause.refusedAt,
      refusals,
      fullUntil: Math.max(pause?.fullUntil ?? 0, now + askedMs),
      formerRate: pause ? pause.formerRate : this.#rate,
    };
    this.#rate = this.#rateAfter(this.#pause, Math.max(now, this.#nextStart));
    this.#respace(now);
  }

  /** The call ended in a way that says nothing about limits. */
  ended(call: Call, now: number): void {
    if (this.#isTrial(call) || this.#inFlight.size >= this.#concurrency) this.#roomSince = now;
    this.#inFlight.delete(call);
  }

  /** Whether the call began after the last refusal, and so tells whether the service takes calls again. */
  #isTrial({ startedAt }: Call): boolean {
    return this.#pause !== undefined && startedAt >= this.#pause.refusedAt;
  }

  /** The rate that a pause shows, of which the first call after it begins at `at`. */
  #rateAfter({ since, until, refusedAt, fullUntil, formerRate }: Pause, at: number): Rate | undefined {
    if (this.#span === undefined || this.#span.passes === 0) return formerRate;
    const isTelling = until - since >= TELLING_PAUSE && this.#span.passes >= TELLING_PASSES;
    const measured = this.#span.passes / ((isTelling ? fullUntil : at) - this.#span.since);
    const { value: former, goal } = formerRate ?? NO_RATE;
    if (isTelling) {
      const value = Math.min(former, measured);
      return { value, goal: value };
    }
    if (formerRate === undefined) return { value: Math.max(LEAST_UNTOLD, measured), goal };
    const value = Math.min(former, Math.max(DECREASE * former, LEAST_UNTOLD, measured));
    // A service that names a pause doesn't refuse by chance.
    if (fullUntil > refusedAt) return { value, goal: value };
    return { value, goal: REGAINED * (goal < Number.POSITIVE_INFINITY ? Math.max(former, goal) : former) };
  }

  /** A call that began at `at` passed. */
  #endPause(pause: Pause, at: number, now: number): void {
    if (at < pause.until) this.#rate = pause.formerRate;
    // Calls that were in flight when the pause began have passed since.
    else if (this.pausedUntil !== undefined) this.#rate = this.#rateAfter(pause, at);
    if (at >= pause.until) this.#span = { since: at, passes: 0 };
    this.#respace(now);
    this.#pause = undefined;
  }

  /** The rate has changed. A faster one allows a call from now on: one in the past would let the call after it begin too soon. */
  #respace(now: number): void {
    this.#nextStart = Math.max(now, this.#lastStart + this.spacing);
  }

  #raise(): void {
    if (this.#rate === undefined) return;
    const { value, goal } = this.#rate;
    const [increase, most] = value < goal ? [FAST_INCREASE, goal] : [INCREASE, 1 / this.#leastSpacing];
    const grown = value * (1 + Math.min(1, (increase * this.spacing) / 1000));
    this.#rate = { value: Math.min(most, grown), goal };
  }
}

const NO_RATE: Rate = { value: Number.POSITIVE_INFINITY, goal: Number.POSITIVE_INFINITY };

/** In milliseconds. */
const backoffAfter = (refusals: number): number =>
  refusals <= 1 ? 0 : Math.min(LONGEST_BACKOFF, FIRST_BACKOFF * 2 ** (refusals - 2));
