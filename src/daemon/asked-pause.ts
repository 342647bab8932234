import { ServiceFailure } from "../core/service-failure.ts";
import type { Clock } from "../ports/clock.ts";
import type { GroupService } from "../ports/group-service.ts";

/**
 * Until when a service asked to be left alone (`Retry-After`), from one run to the next: a run keeps to it by itself, but
 * ends where the pause is too long for it.
 */
export class AskedPause {
  readonly #clock: Clock;
  #baseUrl = "";
  #until = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The service for one run. A call before the end of a pause that an earlier run was asked for fails without a request. */
  keptTo(service: GroupService, baseUrl: string): GroupService {
    if (baseUrl !== this.#baseUrl) this.#until = 0;
    this.#baseUrl = baseUrl;
    const until = this.#until;
    const call = async <T>(request: () => Promise<T>): Promise<T> => {
      const leftMs = until - this.#clock.monotonic();
      if (leftMs > 0) {
        const message = "an earlier run was asked to wait, and that time is not over";
        throw new ServiceFailure("THROTTLED", message, { retryAfterMs: leftMs });
      }
      try {
        return await request();
      } catch (error) {
        this.#note(error);
        throw error;
      }
    };
    return {
      getOrCreate: (group, beforeSend) => call(() => service.getOrCreate(group, beforeSend)),
      rotate: (id, token, beforeSend) => call(() => service.rotate(id, token, beforeSend)),
      remove: (group, beforeSend) => call(() => service.remove(group, beforeSend)),
    };
  }

  #note(error: unknown): void {
    if (!(error instanceof ServiceFailure) || error.retryAfterMs === undefined) return;
    this.#until = Math.max(this.#until, this.#clock.monotonic() + error.retryAfterMs);
  }
}
