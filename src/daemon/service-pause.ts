import { ServiceFailure } from "../core/failure/service-failure.ts";
import type { Clock } from "../ports/clock.ts";
import type { GroupService } from "../ports/group-service.ts";

/**
 * Remembers across runs until when the service asked for no requests (`Retry-After`). Within a run the throttle waits for that
 * time, but a run ends if the time is too long, and the next one must not call earlier. Returns what gives each run its service:
 * while a pause from an earlier run lasts, calls fail with THROTTLED and send no request.
 */
export function servicePause(clock: Clock): (service: GroupService, baseUrl: string) => GroupService {
  let pausedUrl = "";
  let pausedUntil = 0;
  return (service, baseUrl) => {
    if (baseUrl !== pausedUrl) pausedUntil = 0;
    pausedUrl = baseUrl;
    const until = pausedUntil;
    const call = async <T>(request: () => Promise<T>): Promise<T> => {
      const leftMs = until - clock.monotonic();
      if (leftMs > 0) {
        const message = "the service asked an earlier run to wait, and that time is not over";
        throw new ServiceFailure("THROTTLED", message, { retryAfterMs: leftMs });
      }
      try {
        return await request();
      } catch (error) {
        const askedMs = error instanceof ServiceFailure ? (error.retryAfterMs ?? 0) : 0;
        pausedUntil = Math.max(pausedUntil, clock.monotonic() + askedMs);
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
  };
}
