import {
  beginSearch,
  goesBeyond,
  isFound,
  isTrial,
  type LimitSearch,
  raised,
  refuted,
  type SearchScale,
} from "./limit-search.ts";
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
  /** So many others were in flight when it began, without those that turned out to be refused. */
  load: number;
  /** The pace that it had to wait for: its answer speaks of that. */
  readonly pace: LimitSearch | undefined;
  /** The limit of calls in flight under which it began, and whether it took the last place. */
  readonly crowd: LimitSearch;
  readonly isLastIn: boolean;
  /** The one call that finds out whether a pause is over. */
  readonly isProbe: boolean;
}

/** No calls until then, but for a probe afterwards. */
interface Pause {
  /** The limit that the refusal is put down to. */
  readonly suspect: "rate" | "concurrency";
  readonly since: number;
  readonly until: number;
}

/** Answers without a refusal. */
interface Trial {
  readonly since: number;
  passes: number;
}

/** Of pauses that the service doesn't name the length of, in milliseconds. */
const FIRST_PAUSE = 1_000;
const LONGEST_PAUSE = 60_000;
const PAUSE_GROWTH = 1.6;

/** So many calls that passed are no accident. */
const EVIDENCE = 8;
/** The most of a token bucket's burst that a trial has to outlast; one that outlasts it all is only found out later. */
const LARGEST_BURST = 20;
/** A limit that was found is left alone for so many answers, and for so many times the pause that a refusal costs. */
const ANSWERS_LEFT_ALONE = 128;
const PAUSES_LEFT_ALONE = 32;

/**
 * Learns what a service allows from what it lets through and what it refuses: how many calls in flight, and how many
 * in a time. Both are searched for in the same way, and each refusal is put down to one of the two.
 *
 * The rate is a pace, not a quota: evenly spaced calls keep within fixed windows and token buckets alike, and leave
 * room in every window for others that share the limit. Before the first refusal there is no pace.
 *
 * Times are milliseconds of one clock that never runs backwards.
 */
export class ServiceLimits {
  readonly #rateScale: SearchScale;
  readonly #concurrencyScale: SearchScale;
  /** Calls per millisecond; undefined before the service has shown a limit. */
  #rate: LimitSearch | undefined;
  #concurrency = beginSearch(1, 1);
  #rateTrial: Trial = { since: 0, passes: 0 };
  #concurrencyTrial: Trial = { since: 0, passes: 0 };

  readonly #inFlight = new Set<Call>();
  #nextStart = 0;
  /** Since when there is room for another call. */
  #roomSince = 0;
  #pause: Pause | undefined;
  #nextPause = FIRST_PAUSE;

  /** Since calls go again after a pause for the rate's sake. */
  #span: Trial | undefined;
  /** The last span had too few calls to tell a rate. */
  #wasShort = false;
  /** Load → calls that passed under it since the last refusal. */
  #passes: number[] = [];

  /** How long it takes until a rate that is too high is refused, as far as that is known. */
  #period = FIRST_PAUSE;
  #burst = LARGEST_BURST;
  /** How long each limit is left alone once it is found. */
  #ratePatience = 0;
  #concurrencyPatience = 0;

  constructor({ concurrency, rateLimit }: Ceilings) {
    this.#rateScale = {
      ceiling: rateLimit ? rateLimit.count / rateLimit.perMs : Infinity,
      tolerance: (rate) => 0.03 * rate,
      step: (rate) => 0.05 * rate,
      round: (rate) => rate,
    };
    this.#concurrencyScale = {
      ceiling: concurrency,
      tolerance: () => 1,
      step: () => 1,
      round: Math.floor,
    };
  }

  /** Since when, or from when on, the next call may begin; Infinity where another has to end first. */
  dueAt(): number {
    if (this.#inFlight.size >= this.#concurrency.value) return Infinity;
    const due = Math.max(this.#nextStart, this.#roomSince);
    if (this.#pause === undefined) return due;
    for (const { isProbe } of this.#inFlight) if (isProbe) return Infinity;
    return Math.max(due, this.#pause.until);
  }

  get isPaused(): boolean {
    return this.#pause !== undefined;
  }

  get inFlight(): number {
    return this.#inFlight.size;
  }

  /** Calls per second that the service seems to allow; undefined where nothing tells. */
  get perSecond(): number | undefined {
    if (this.#rate) return this.#rate.passed * 1000;
    // A wait that is named in whole seconds tells little where it is a second.
    if (this.#pause?.suspect !== "rate" || this.#pause.until - this.#pause.since < 1_500) return undefined;
    if (this.#span === undefined || this.#span.passes < EVIDENCE) return undefined;
    return (this.#span.passes * 1000) / (this.#pause.until - this.#span.since);
  }

  /** A call begins; where it isn't made against the limits, not before `dueAt()`. */
  start(at: number): Call {
    const inFlight = this.#inFlight.size + 1;
    const call: Call = {
      startedAt: at,
      load: inFlight - 1,
      pace: at <= this.#nextStart ? this.#rate : undefined,
      crowd: this.#concurrency,
      isLastIn: inFlight >= this.#concurrency.value,
      isProbe: this.#pause !== undefined && at >= this.#pause.until,
    };
    this.#inFlight.add(call);
    this.#span ??= { since: at, passes: 0 };
    this.#nextStart = Math.max(at, this.#nextStart) + this.#spacing;
    return call;
  }

  /** The service let it through, whatever it answered then. */
  passed(call: Call, now: number): void {
    this.ended(call, now);
    this.#passes[call.load] = (this.#passes[call.load] ?? 0) + 1;
    if (call.isProbe && this.#pause) {
      this.#resume(this.#pause, call.startedAt, now);
      return;
    }
    if (this.#span) this.#span.passes++;
    if (call.crowd === this.#concurrency) this.#testConcurrency(call, now);
    if (call.pace && call.pace === this.#rate) this.#testRate(call.pace, now);
  }

  /** The service refused it for now. `retryAfterMs` 0 says no more than undefined. */
  refused(call: Call, now: number, retryAfterMs: number | undefined, random: () => number): void {
    this.ended(call, now);
    for (const other of this.#inFlight) if (other.startedAt > call.startedAt && other.load > 0) other.load--;
    if (this.#pause && !call.isProbe) {
      // The calls that were under way together are refused together: that is one refusal, as long as the longest.
      this.#pause = { ...this.#pause, until: Math.max(this.#pause.until, now + (retryAfterMs ?? 0)) };
      return;
    }
    const suspect = this.#suspect(call);
    if (suspect === "rate") this.#passes = [];
    else {
      this.#concurrencyPatience = PAUSES_LEFT_ALONE * (retryAfterMs ?? 0);
      this.#refuteConcurrency(call.load, now);
      this.#passes.length = Math.min(this.#passes.length, call.load);
      // Room for another call comes by itself.
      if (!retryAfterMs) return;
    }
    const ms = retryAfterMs || this.#nextPause * (0.8 + random() / 5);
    this.#nextPause = Math.min(LONGEST_PAUSE, this.#nextPause * PAUSE_GROWTH);
    this.#pause = { suspect, since: now, ...this.#pause, until: now + ms };
  }

  /** The service seems to have more to do than it can. */
  timedOut(call: Call, now: number): void {
    this.ended(call, now);
    // Those that were under way together count once.
    if (call.startedAt < this.#concurrencyTrial.since) return;
    this.#refuteConcurrency(Math.floor(this.#concurrency.value * 0.75), now);
  }

  /** It ended in a way that says nothing of limits. */
  ended(call: Call, now: number): void {
    if (call.isProbe || this.#inFlight.size >= this.#concurrency.value) this.#roomSince = now;
    this.#inFlight.delete(call);
  }

  get #spacing(): number {
    return 1 / Math.min(this.#rate?.value ?? Infinity, this.#rateScale.ceiling);
  }

  #suspect({ load, isProbe }: Call): Pause["suspect"] {
    if (load === 0 || isProbe) return "rate";
    let passes = 0;
    for (let more = load; more < this.#passes.length; more++) passes += this.#passes[more] ?? 0;
    // As many in flight, and more, were no problem before.
    if (passes >= EVIDENCE) return "rate";
    return this.#rate && isTrial(this.#rate) ? "rate" : "concurrency";
  }

  #resume({ suspect, since }: Pause, at: number, now: number): void {
    this.#pause = undefined;
    this.#nextPause = FIRST_PAUSE;
    if (suspect === "rate") {
      const { since: spanSince, passes } = this.#span ?? { since: at, passes: 0 };
      this.#learnRate(passes, at - spanSince, at - since);
    }
    this.#span = { since: at, passes: 1 };
    this.#rateTrial = { since: now, passes: 0 };
    this.#nextStart = at + this.#spacing;
    this.#roomSince = now;
  }

  /** So many calls passed in `ms`, the last `pauseMs` of which the service refused more. */
  #learnRate(passes: number, ms: number, pauseMs: number): void {
    const scale = this.#rateScale;
    const measured = Math.min(scale.ceiling, Math.max(1, passes) / ms);
    const search = this.#rate;
    if (search === undefined) {
      // One refusal after a handful of calls may be anything; two are a small limit.
      this.#wasShort = passes < EVIDENCE && !this.#wasShort;
      if (this.#wasShort) return;
      this.#period = Math.min(LONGEST_PAUSE, Math.max(ms, FIRST_PAUSE));
      this.#burst = Math.min(LARGEST_BURST, Math.max(1, passes));
      this.#rate = raised(beginSearch(measured, measured / 4), scale);
      return;
    }
    if (goesBeyond(search)) {
      this.#ratePatience = Math.max(2 * this.#ratePatience, PAUSES_LEFT_ALONE * pauseMs);
    }
    const isTooHigh = !isTrial(search) || pauseMs > this.#period;
    if (pauseMs > this.#period) this.#period = Math.min(LONGEST_PAUSE, 1.5 * pauseMs);
    // What passed in trials that were shorter than the limit's period says nothing.
    const passed = isTooHigh
      ? Math.min(measured, 0.95 * search.value)
      : Math.max(search.passed, Math.min(measured, 0.98 * search.value));
    this.#rate = refuted(search, scale, passed);
  }

  #testRate(search: LimitSearch, now: number): void {
    const { value, passed, failures } = search;
    const trial = this.#rateTrial;
    trial.passes++;
    const isEnough = isFound(search, this.#rateScale)
      ? lasted(
          trial,
          now,
          (ANSWERS_LEFT_ALONE / 2) * 2 ** failures,
          Math.max(this.#period, this.#ratePatience),
        )
      : // The smaller a step, the longer it takes to use up a burst.
        lasted(trial, now, this.#burst * (isTrial(search) ? value / (value - passed) : 2), this.#period);
    if (!isEnough) return;
    this.#rate = raised(search, this.#rateScale);
    this.#rateTrial = { since: now, passes: 0 };
  }

  #testConcurrency({ crowd: search, isLastIn }: Call, now: number): void {
    const { value, failures } = search;
    const trial = this.#concurrencyTrial;
    trial.passes++;
    if (!isLastIn) return;
    const isEnough = isFound(search, this.#concurrencyScale)
      ? lasted(trial, now, ANSWERS_LEFT_ALONE * 2 ** failures, this.#concurrencyPatience * 2 ** failures)
      : lasted(trial, now, value / 2, 0);
    if (!isEnough) return;
    this.#concurrency = raised(search, this.#concurrencyScale);
    this.#concurrencyTrial = { since: now, passes: 0 };
  }

  #refuteConcurrency(passed: number, now: number): void {
    const search = this.#concurrency;
    if (search.value <= Math.max(1, passed)) return;
    this.#concurrency = refuted(search, this.#concurrencyScale, Math.max(1, passed));
    this.#concurrencyTrial = { since: now, passes: 0 };
  }
}

const lasted = ({ since, passes }: Trial, now: number, enoughPasses: number, enoughMs: number): boolean =>
  passes >= enoughPasses && now - since >= enoughMs;
