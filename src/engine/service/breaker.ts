import { remedyOf } from "../../core/failure/error-codes.ts";
import type { ServiceFailure } from "../../core/failure/service-failure.ts";
import { SyncError } from "../../core/failure/sync-error.ts";
import type { ServiceMethod } from "../../ports/group-service.ts";

/** A breaker for each method: the service may answer every GET and refuse every POST. */
export type Breakers = Readonly<Record<ServiceMethod, Breaker>>;

/** This many consecutive failures end the run. */
const IN_A_ROW = 20;
/** As long as nothing has succeeded, fewer consecutive failures end the run. */
const IN_A_ROW_AT_FIRST = 5;
/** This many failures among the last calls end the run, consecutive or not. */
const FAILED = 45;
const OF_THE_LAST = 50;
/** Milliseconds. A service that lets nothing pass for this long is down, even if it answers as if a limit were reached. */
export const LONGEST_DEFERRAL = 10 * 60_000;
/** This many groups in a row that were refused alone end the run: what refuses them may refuse all. */
const REFUSED_ALONE = 3;
/** This many clear refusals (REFUSED) end the run if the service has never answered well. Fewer may concern a few groups. */
const REFUSED_AT_FIRST = 100;

/** A call that the service refused for now. Times in milliseconds, of one clock. */
interface Deferral {
  readonly group: string;
  readonly now: number;
  /** `now` on the wall clock. */
  readonly at: Date;
  /** The pause that the service asks for; 0 if it names none. */
  readonly askedMs: number;
  /** A call has passed in this run. Then a long pause may only mean that the window of a limit is used up. */
  readonly hasAnswered: boolean;
}

/** The service defers every call. An answer ends that. */
interface Outage {
  readonly since: number;
  readonly groups: Set<string>;
  /** Waiting is useless. */
  isLong: boolean;
  /** When the service asks to be called again, if that is too far away for this run. */
  askAgainAt: Date | undefined;
}

/** A circuit breaker. Decides whether a failure concerns one group only, or the service is down and the run has to end. */
export class Breaker {
  #served = 0;
  #inARow = 0;
  #mostInARow: number;
  #refusals = 0;
  readonly #refusedAlone = new Set<string>();
  #isProven: boolean;
  /** Whether the last calls failed. */
  readonly #recent: boolean[] = [];
  #outage: Outage | undefined;

  /**
   * `isProven`: the service has answered well in an earlier run, so a clear refusal is about its group. `mostInARow`: this many
   * failures end the run as long as nothing has succeeded.
   */
  constructor(isProven: boolean, mostInARow = IN_A_ROW_AT_FIRST) {
    this.#isProven = isProven;
    this.#mostInARow = mostInARow;
  }

  /** How many calls the service has answered, including clear refusals. */
  get served(): number {
    return this.#served;
  }

  /** Whether the last call has failed for good. */
  get isFailing(): boolean {
    return this.#inARow > 0;
  }

  succeeded(): void {
    this.#isProven = true;
    this.#refusedAlone.clear();
    this.#serve();
  }

  /** The service deferred a call. Returns whether it has deferred every call for so long that waiting is useless. */
  deferred({ group, now, at, askedMs, hasAnswered }: Deferral): boolean {
    this.#outage ??= { since: now, groups: new Set(), isLong: false, askAgainAt: undefined };
    const outage = this.#outage;
    const isTooFarAway = askedMs > LONGEST_DEFERRAL;
    outage.groups.add(group);
    outage.askAgainAt = isTooFarAway ? new Date(at.getTime() + askedMs) : undefined;
    outage.isLong = now - outage.since > LONGEST_DEFERRAL || (isTooFarAway && !hasAnswered);
    return outage.isLong;
  }

  /** Returns the error that ends the run; undefined if only this group has failed. */
  failed(failure: ServiceFailure): SyncError | undefined {
    if (failure.code === "REFUSED") return this.refused(failure);
    this.#inARow++;
    this.#remember(true);
    if (failure.code === "UNREACHABLE") return unavailable(failure);
    const outage = this.#outage;
    if (failure.reaction === "slow" && outage?.isLong && outage.groups.size > 1) {
      const { askAgainAt } = outage;
      return askAgainAt === undefined
        ? unavailable(failure, "nothing has passed for more than ten minutes; ")
        : unavailable(failure, `it asks to be left alone until ${askAgainAt.toISOString()}; `, COME_BACK);
    }
    if (this.#recent.filter(Boolean).length >= FAILED) {
      return unavailable(failure, `it failed ${FAILED} of ${OF_THE_LAST} calls, the last one with `);
    }
    return this.#inARow < this.#mostInARow ? undefined : unavailable(failure);
  }

  /**
   * Takes a clear refusal of one group, which usually shows that the service works. But a server that has only refused so far may
   * not be the service at all.
   */
  refused(failure: ServiceFailure): SyncError | undefined {
    if (!this.#isProven && ++this.#refusals >= REFUSED_AT_FIRST) {
      const share = `it refused the first ${REFUSED_AT_FIRST} groups, the last one with `;
      return unavailable(failure, share, NOT_THE_SERVICE);
    }
    this.#serve();
    return undefined;
  }

  /** Takes the refusal of a call for this group by 401, 403 or an intermediary, after a neutral request has passed. */
  refusedAlone(id: string, refusal: ServiceFailure): SyncError | undefined {
    this.#refusedAlone.add(id);
    if (this.#refusedAlone.size < REFUSED_ALONE) return this.refused(refusal);
    const share = `it refused ${REFUSED_ALONE} groups in a row, the last one, ${JSON.stringify(id)}, with `;
    return unavailable(refusal, share, NOT_THESE_GROUPS);
  }

  #serve(): void {
    this.#served++;
    this.#remember(false);
    this.#outage = undefined;
    this.#inARow = 0;
    this.#mostInARow = IN_A_ROW;
  }

  #remember(hasFailed: boolean): void {
    this.#recent.push(hasFailed);
    if (this.#recent.length > OF_THE_LAST) this.#recent.shift();
  }
}

const COME_BACK =
  "nothing passes until then: see who else uses up what the service allows, or ask its operators for more";

const NOT_THESE_GROUPS =
  "a request that names no group passes: look for what these groups have in common, and whether the holder of service.api_key may do this";

const NOT_THE_SERVICE =
  "is service.base_url the service itself, and may the holder of service.api_key do this there?";

const unavailable = (failure: ServiceFailure, share = "", hint: string = remedyOf(failure.code)): SyncError =>
  new SyncError("SERVICE_UNAVAILABLE", `the service is not available: ${share}${failure.message}`, {
    hint,
    cause: failure,
  });
