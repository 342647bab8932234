import { SyncError } from "../core/errors.ts";
import { SERVICE_FAILURES, type ServiceFailure } from "../core/service-failure.ts";

/** So many groups in a row that the service could not serve are no longer the groups' fault. */
const IN_A_ROW = 20;
/** Nor are so many where it has not served any yet. */
const AT_THE_START = 5;

/** Tells a poisoned group, which costs itself, from a service that is down, which ends the run. */
export class Breaker {
  #inARow = 0;
  #most = AT_THE_START;

  succeeded(): void {
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
    const down = failure.code === "UNREACHABLE" || failure.code === "THROTTLED";
    if (!down && this.#inARow < this.#most) return undefined;
    return new SyncError("SERVICE_UNAVAILABLE", `the service is not available: ${failure.message}`, {
      hint: SERVICE_FAILURES[failure.code].remedy,
      cause: failure,
    });
  }
}
