import { ServiceFailure } from "../core/failure/service-failure.ts";
import type { Clock } from "../ports/clock.ts";
import type { GroupService } from "../ports/group-service.ts";

/**
 * Remembers across runs until when the service asked for no requests (`Retry-After`). Within a run the throttle waits for that
 * time, but a run ends if the time is too long, and the next one must not call earlier.
 */
export class ServicePause {
  readonly #clock: Clock;
  #baseUrl = "";
  #until = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The service for one run. While a pause from an earlier run lasts, calls fail with THROTTLED and send no request. */
  forRun(service: GroupService, baseUrl: string): GroupService {
    if (baseUrl !== this.#baseUrl) this.#until = 0;
    this.#baseUrl = baseUrl;
    const until = this.#until;
    const call = async <T>(request: () => Promise<T>): Promise<T> => {
      const leftMs = until - this.#clock.monotonic();
      if (leftMs > 0) {
        const message = "the service asked an earlier run to wait, and that time is not over";
        throw new ServiceFailure("THROTTLED", message, { retryAfterMs: leftMs });
      }
      try {
        return await request();
      } catch (error) {
        const askedMs = error instanceof ServiceFailure ? (error.retryAfterMs ?? 0) : 0;
        this.#until = Math.max(this.#until, this.#clock.monotonic() + askedMs);
        throw error;
      }
    };
    return {
      getOrCreate: (group, beforeSend) => call(() => service.getOrCreate(group, beforeSend)),
      rotate: (id, token, beforeSend) => call(() => service.rotate(id, token, beforeSend)),
      remove: (group, beforeSend) => call(() => service.remove(group, beforeSend)),
      getWithWrongKey: (beforeSend) => call(() => service.getWithWrongKey(beforeSend)),
      rotateNobody: (beforeSend) => call(() => service.rotateNobody(beforeSend)),
    };
  }
}
