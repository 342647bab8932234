import { ServiceFailure } from "../../core/failure/service-failure.ts";
import type { Clock } from "../../ports/clock.ts";
import type { GroupService } from "../../ports/group-service.ts";

export type OperationLabel = "get" | "post" | "delete";

/** A request that was sent, or for which no connection could be made. */
export interface MeasuredCall {
  readonly operation: OperationLabel;
  /** `ok`, or the failure's code in small letters. */
  readonly result: string;
  readonly seconds: number;
}

export function measuredService(
  service: GroupService,
  clock: Clock,
  onCall: (call: MeasuredCall) => void,
): GroupService {
  const measured = async <T>(operation: OperationLabel, request: () => Promise<T>): Promise<T> => {
    const start = clock.monotonic();
    const ended = (result: string): void =>
      onCall({ operation, result, seconds: (clock.monotonic() - start) / 1_000 });
    try {
      const answer = await request();
      ended("ok");
      return answer;
    } catch (error) {
      // Any other error comes from `beforeSend`, before a request was sent.
      if (error instanceof ServiceFailure) ended(error.code.toLowerCase());
      throw error;
    }
  };
  return {
    getOrCreate: (group, beforeSend) => measured("get", () => service.getOrCreate(group, beforeSend)),
    rotate: (id, token, beforeSend) => measured("post", () => service.rotate(id, token, beforeSend)),
    remove: (group, beforeSend) => measured("delete", () => service.remove(group, beforeSend)),
    // Not measured: a refusal of its wrong key would look like one of the real key.
    getWithWrongKey: (beforeSend) => service.getWithWrongKey(beforeSend),
    rotateNobody: (beforeSend) => measured("post", () => service.rotateNobody(beforeSend)),
  };
}
