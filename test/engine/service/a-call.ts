import { expect } from "vitest";
import { ServiceFailure, type ServiceFailureCode } from "../../../src/core/failure/service-failure.ts";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import { Breaker } from "../../../src/engine/service/breaker.ts";
import {
  type CallContext,
  type CallResult,
  callWithRetries,
} from "../../../src/engine/service/call-with-retries.ts";
import { PRIORITY, Throttle } from "../../../src/engine/service/throttle.ts";
import type { RunEvent } from "../../../src/ports/observer.ts";
import { VirtualClock, VirtualTime } from "../../fakes/virtual-time.ts";

export type Reply = ServiceFailureCode | "answer" | ServiceFailure;

interface Called {
  readonly result: CallResult<string>;
  readonly requests: number;
  readonly elapsed: number;
  readonly events: readonly RunEvent[];
}

interface CallOptions extends Pick<CallContext, "isFollowUp" | "isUnrepeatable"> {
  /** The request in which the run is told to stop; 0: before the first. */
  readonly stopAt?: number;
  readonly loseLeaseAt?: number;
  /** Another call has failed for good, and none was answered. */
  readonly hasFailedBefore?: boolean;
  /** Another call is answered before each of its attempts, or before so many of them. */
  readonly othersPass?: boolean | number;
  /** How long one takes. */
  readonly callMs?: number;
}

/** Calls a service that gives these replies in order, the last of them again and again. */
export async function call(
  replies: readonly Reply[],
  {
    stopAt,
    loseLeaseAt,
    hasFailedBefore = false,
    othersPass = false,
    callMs = 10,
    ...context
  }: CallOptions = {},
): Promise<Called> {
  const time = new VirtualTime();
  const clock = new VirtualClock(time);
  const events: RunEvent[] = [];
  const observe = (event: RunEvent): void => void events.push(event);
  const stopping = new AbortController();
  const lost = new AbortController();
  const tally = { requests: 0 };
  let received = 0;
  if (stopAt === 0) stopping.abort();
  const breaker = new Breaker(true);
  if (hasFailedBefore) breaker.failed(new ServiceFailure("SERVICE_ERROR", "SERVICE_ERROR"));
  const result = await callWithRetries(
    "acme",
    async () => {
      if (othersPass === true || received < Number(othersPass)) breaker.succeeded();
      const reply = replies[Math.min(received++, replies.length - 1)];
      if (received === stopAt) stopping.abort();
      if (received === loseLeaseAt) lost.abort();
      await time.sleep(callMs);
      if (reply === "answer" || reply === undefined) return "answer";
      throw reply instanceof ServiceFailure ? reply : new ServiceFailure(reply, reply);
    },
    {
      ...context,
      clock,
      observe,
      signal: stopping.signal,
      throttle: new Throttle(clock, observe, { concurrency: 1 }),
      priority: PRIORITY.fullSync,
      waitBeforeRetry: (ms, signal) => clock.sleep(ms, signal),
      breaker,
      lease: {
        epoch: "1",
        unsureUntil: null,
        lost: lost.signal,
        assertHeld: () => {
          if (lost.signal.aborted) throw new SyncError("LEASE_LOST", "lost");
        },
        wanted: new AbortController().signal,
        awaitAlways: (task) => task,
        formerCallsEnded: async () => {},
        takeRequests: () => () => {},
      },
      tally,
    },
  );
  expect(tally.requests).toBe(received);
  return { result, ...tally, elapsed: time.elapsed, events };
}
