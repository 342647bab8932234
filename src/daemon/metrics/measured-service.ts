import { ServiceFailure, type ServiceFailureCode } from "../../core/failure/service-failure.ts";
import type { Clock } from "../../ports/clock.ts";
import type { GroupService } from "../../ports/group-service.ts";

export type OperationLabel = "get" | "post" | "delete";
/** `ok`, or the failure's code in small letters. */
export type ResultLabel = "ok" | Lowercase<ServiceFailureCode>;

/** A request that was sent, or for which no connection could be made. */
export interface MeasuredCall {
  readonly operation: OperationLabel;
  readonly result: ResultLabel;
  readonly seconds: number;
}

/**
 * Measures the requests of all runs, and remembers across runs until when the service asked for none (`Retry-After`). Within a
 * run the throttle waits for that time, but a run ends if the time is too long, and the next one must not call earlier.
 */
export class MeasuredService {
  readonly #clock: Clock;
  readonly #onCall: (call: MeasuredCall) => void;
  #baseUrl = "";
  #pausedUntil = 0;

  constructor(clock: Clock, onCall: (call: MeasuredCall) => void) {
    this.#clock = clock;
    this.#onCall = onCall;
  }

  /** The service for one run. While a pause from an earlier run lasts, calls fail with THROTTLED and send no request. */
  forRun(service: GroupService, baseUrl: string): GroupService {
    if (baseUrl !== this.#baseUrl) this.#pausedUntil = 0;
    this.#baseUrl = baseUrl;
    const until = this.#pausedUntil;
    const call = <T>(operation: OperationLabel | null, request: () => Promise<T>): Promise<T> =>
      this.#call(operation, until, request);
    return {
      getOrCreate: (group, beforeSend) => call("get", () => service.getOrCreate(group, beforeSend)),
      rotate: (id, token, beforeSend) => call("post", () => service.rotate(id, token, beforeSend)),
      remove: (group, beforeSend) => call("delete", () => service.remove(group, beforeSend)),
      // Not measured: a refusal of its wrong key would look like one of the real key.
      getWithWrongKey: (beforeSend) => call(null, () => service.getWithWrongKey(beforeSend)),
      rotateNobody: (beforeSend) => call("post", () => service.rotateNobody(beforeSend)),
    };
  }

  async #call<T>(
    operation: OperationLabel | null,
    pausedUntil: number,
    request: () => Promise<T>,
  ): Promise<T> {
    const start = this.#clock.monotonic();
    if (start < pausedUntil) {
      const message = "the service asked an earlier run to wait, and that time is not over";
      throw new ServiceFailure("THROTTLED", message, { retryAfterMs: pausedUntil - start });
    }
    const ended = (result: ResultLabel): void => {
      const seconds = (this.#clock.monotonic() - start) / 1_000;
      if (operation !== null) this.#onCall({ operation, result, seconds });
    };
    try {
      const answer = await request();
      ended("ok");
      return answer;
    } catch (error) {
      // Any other error comes from `beforeSend`, before a request was sent.
      if (error instanceof ServiceFailure) {
        ended(resultLabel(error.code));
        this.#pause(error.retryAfterMs ?? 0);
      }
      throw error;
    }
  }

  #pause(ms: number): void {
    if (ms > 0) this.#pausedUntil = Math.max(this.#pausedUntil, this.#clock.monotonic() + ms);
  }
}

/** For TypeScript, toLowerCase() returns any string. */
export const resultLabel = (code: ServiceFailureCode): Lowercase<ServiceFailureCode> =>
  code.toLowerCase() as Lowercase<ServiceFailureCode>;
