import { SyncError } from "../core/errors.ts";
import { RecentCalls } from "../core/recent-calls.ts";
import { SERVICE_FAILURES, type ServiceFailure } from "../core/service-failure.ts";

/** So many failures in a row are the service's fault, and no longer the groups'. */
const IN_A_ROW = 20;
/** Fewer are, as long as nothing has succeeded. */
const IN_A_ROW_AT_FIRST = 5;
/** So are so many of the last calls, in a row or not. */
const FAILED = 45;
const OF_THE_LAST = 50;

/** A circuit breaker: tells a poisoned group, which costs itself, from a service that is down, which ends the run. */
export class Breaker {
  #inARow = 0;
  #mostInARow = IN_A_ROW_AT_FIRST;
  readonly #recent = new RecentCalls(OF_THE_LAST);

  succeeded(): void {
    this.#recent.add(false);
    this.#inARow = 0;
    this.#mostInARow = IN_A_ROW;
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
    const isNearlyDown = this.#recent.failed >= FAILED;
    if (!isDown && !isNearlyDown && this.#inARow < this.#mostInARow) return undefined;
    const share = isNearlyDown ? `it failed ${FAILED} of ${OF_THE_LAST} calls, the last one with ` : "";
    return new SyncError("SERVICE_UNAVAILABLE", `the service is not available: ${share}${failure.message}`, {
      hint: SERVICE_FAILURES[failure.code].remedy,
      cause: failure,
    });
  }
}
