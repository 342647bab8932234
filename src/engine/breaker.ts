import { SyncError } from "../core/errors.ts";
import { RecentCalls } from "../core/recent-calls.ts";
import { SERVICE_FAILURES, type ServiceFailure } from "../core/service-failure.ts";
import { type Deferral, Standstill } from "../core/standstill.ts";

/** This many consecutive failures end the run. */
const IN_A_ROW = 20;
/** Fewer end it as long as nothing has succeeded. */
const IN_A_ROW_AT_FIRST = 5;
/** This many failures among the last calls end the run, consecutive or not. */
const FAILED = 45;
const OF_THE_LAST = 50;
/** This many clear refusals end it if the service has never answered well; fewer may be about their groups alone. */
const REFUSED_AT_FIRST = 100;

/** A circuit breaker: tells a poisoned group, which costs itself, from a service that is down, which ends the run. */
export class Breaker {
  #served = 0;
  #inARow = 0;
  #mostInARow = IN_A_ROW_AT_FIRST;
  #refusals = 0;
  #isProven: boolean;
  readonly #recent = new RecentCalls(OF_THE_LAST);
  readonly #standstill = new Standstill();

  /** `isProven`: earlier runs have had good answers, so that a clear refusal is about its group. */
  constructor(isProven: boolean) {
    this.#isProven = isProven;
  }

  /** How many calls were served, be it with a clear refusal. */
  get served(): number {
    return this.#served;
  }

  succeeded(): void {
    this.#isProven = true;
    this.#serve();
  }

  /** A call was refused for now. Whether nothing has passed for so long that waiting is no use. */
  deferred(deferral: Deferral): boolean {
    this.#standstill.refused(deferral);
    return this.#standstill.isLong;
  }

  /** The error that the run has to end with; undefined where only this group has failed. */
  failed(failure: ServiceFailure): SyncError | undefined {
    if (failure.reaction === "stop") return failure;
    if (failure.code === "REFUSED") return this.refused(failure);
    this.#inARow++;
    this.#recent.add(true);
    if (failure.code === "UNREACHABLE") return unavailable(failure);
    const { isLong, isGeneral, askAgainAt } = this.#standstill;
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

  /** A clear no, about one group: the service is at work. Unless it says nothing else: then it may be none at all. */
  refused(failure: ServiceFailure): SyncError | undefined {
    if (!this.#isProven && ++this.#refusals >= REFUSED_AT_FIRST) {
      const share = `it refused the first ${REFUSED_AT_FIRST} groups, the last one with `;
      return unavailable(failure, share, NOT_THE_SERVICE);
    }
    this.#serve();
    return undefined;
  }

  #serve(): void {
    this.#served++;
    this.#recent.add(false);
    this.#standstill.end();
    this.#inARow = 0;
    this.#mostInARow = IN_A_ROW;
  }
}

const COME_BACK =
  "nothing passes until then: see who else uses up what the service allows, or ask its operators for more";

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
