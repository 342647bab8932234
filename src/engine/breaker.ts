import { SyncError } from "../core/errors.ts";
import { RecentCalls } from "../core/recent-calls.ts";
import { SERVICE_FAILURES, type ServiceFailure } from "../core/service-failure.ts";

/** So many groups in a row that the service could not serve are no longer the groups' fault. */
const IN_A_ROW = 20;
/** Nor are so many where it has not served any yet. */
const AT_THE_START = 5;
/** Nor is it where nearly all fail, if not one after the other. */
const MOST_OF = 50;
const MOST_FAILED = 45;

/** Tells a poisoned group, which costs itself, from a service that is down, which ends the run. */
export class Breaker {
  #inARow = 0;
  #most = AT_THE_START;
  readonly #recent = new RecentCalls(MOST_OF);

  succeeded(): void {
    this.#recent.add(false);
    this.#inARow = 0;
    this.#most = IN_A_ROW;
  }

  /** The error that the run has to end with; undefined where only this group has failed. */
  failed(failure: ServiceFailure): SyncError | undefined {
    if (failure.reaction === "stop") return failure;
    if (failure.reaction === "fail") {
      // An answer about one group: the service is at work.
      this.succeeded();
      return undefined;
    }
    this.#inARow++;
    this.#recent.add(true);
    const isDown = failure.code === "UNREACHABLE" || failure.reaction === "slow";
    const isNearlyDown = this.#recent.failed >= MOST_FAILED;
    if (!isDown && !isNearlyDown && this.#inARow < this.#most) return undefined;
    const share = isNearlyDown ? `it failed ${MOST_FAILED} of ${MOST_OF} calls, the last one with ` : "";
    return new SyncError("SERVICE_UNAVAILABLE", `the service is not available: ${share}${failure.message}`, {
      hint: SERVICE_FAILURES[failure.code].remedy,
      cause: failure,
    });
  }
}
