import { SERVICE_FAILURES, type ServiceFailure } from "../../core/failure/service-failure.ts";
import { SyncError } from "../../core/failure/sync-error.ts";
import { FailureWindow } from "../../core/limits/failure-window.ts";
import { type Deferral, OutageDetector } from "../../core/limits/outage-detector.ts";
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
/** This many groups in a row that were refused alone end the run: what refuses them may refuse all. */
const REFUSED_ALONE = 3;
/** This many clear refusals (REFUSED) end the run if the service has never answered well. Fewer may concern a few groups. */
const REFUSED_AT_FIRST = 100;

/** A circuit breaker. Decides whether a failure concerns one group only, or the service is down and the run has to end. */
export class Breaker {
  #served = 0;
  #inARow = 0;
  #mostInARow: number;
  #refusals = 0;
  readonly #refusedAlone = new Set<string>();
  #isProven: boolean;
  readonly #recent = new FailureWindow(OF_THE_LAST);
  readonly #outage = new OutageDetector();

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

  succeeded(): void {
    this.#isProven = true;
    this.#refusedAlone.clear();
    this.#serve();
  }

  /** The service deferred a call. Returns whether the outage has lasted so long that waiting is useless. */
  deferred(deferral: Deferral): boolean {
    this.#outage.refused(deferral);
    return this.#outage.isLong;
  }

  /** Returns the error that ends the run; undefined if only this group has failed. */
  failed(failure: ServiceFailure): SyncError | undefined {
    if (failure.code === "REFUSED") return this.refused(failure);
    this.#inARow++;
    this.#recent.add(true);
    if (failure.code === "UNREACHABLE") return unavailable(failure);
    const { isLong, isGeneral, askAgainAt } = this.#outage;
    if (failure.reaction === "slow" && isLong && isGeneral) {
      return askAgainAt === undefined
        ? unavailable(failure, "nothing has passed for more than ten minutes; ")
        : unavailable(failure, `it asks to be left alone until ${askAgainAt.toISOString()}; `, COME_BACK);
    }
    if (this.#recent.failed >= FAILED) {
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
    this.#recent.add(false);
    this.#outage.end();
    this.#inARow = 0;
    this.#mostInARow = IN_A_ROW;
  }
}

const COME_BACK =
  "nothing passes until then: see who else uses up what the service allows, or ask its operators for more";

const NOT_THESE_GROUPS =
  "a request that names no group passes: look for what these groups have in common, and whether the holder of service.api_key may do this";

const NOT_THE_SERVICE =
  "is service.base_url the service itself, and may the holder of service.api_key do this there?";

const unavailable = (
  failure: ServiceFailure,
  share = "",
  hint: string = SERVICE_FAILURES[failure.code].remedy,
): SyncError =>
  new SyncError("SERVICE_UNAVAILABLE", `the service is not available: ${share}${failure.message}`, {
    hint,
    cause: failure,
  });
