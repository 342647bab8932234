import { ServiceFailure, type ServiceFailureCode } from "../core/service-failure.ts";
import type { Clock } from "../ports/clock.ts";
import type { GroupService } from "../ports/group-service.ts";

export type Operation = "get" | "post" | "delete";
/** `ok`, or why it failed. */
export type Result = "ok" | Lowercase<ServiceFailureCode>;

/** A request that was sent, or that found nobody to send it to. */
export interface Call {
  readonly operation: Operation;
  readonly result: Result;
  readonly seconds: number;
}

export type OnCall = (call: Call) => void;

/** The same service; of each request it tells how it ended. */
export function measuredService(service: GroupService, clock: Clock, onCall: OnCall): GroupService {
  const measured = async <T>(operation: Operation, request: () => Promise<T>): Promise<T> => {
    const start = clock.monotonic();
    const ended = (result: Result): void =>
      onCall({ operation, result, seconds: (clock.monotonic() - start) / 1_000 });
    try {
      const answer = await request();
      ended("ok");
      return answer;
    } catch (error) {
      // Any other error comes from `beforeSend`, and then nothing was sent.
      if (error instanceof ServiceFailure) ended(resultOf(error.code));
      throw error;
    }
  };
  return {
    getOrCreate: (group, beforeSend) => measured("get", () => service.getOrCreate(group, beforeSend)),
    rotate: (id, token, beforeSend) => measured("post", () => service.rotate(id, token, beforeSend)),
    remove: (group, beforeSend) => measured("delete", () => service.remove(group, beforeSend)),
  };
}

/** TypeScript knows no more of toLowerCase than that it gives a string. */
export const resultOf = (code: ServiceFailureCode): Lowercase<ServiceFailureCode> =>
  code.toLowerCase() as Lowercase<ServiceFailureCode>;
