import { describe, expect, test } from "vitest";
import { ServiceFailure } from "../../../src/core/failure/service-failure.ts";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import { Secret } from "../../../src/core/secret/secret.ts";
import { type MeasuredCall, MeasuredService } from "../../../src/daemon/metrics/measured-service.ts";
import type { GroupService } from "../../../src/ports/group-service.ts";
import { aGroup } from "../../builders/groups.ts";
import { aClock } from "../../fakes/set-clock.ts";

const GROUP = { teamId: 1, token: new Secret("ugt_1"), name: "Acme" };

test("each request is told by its operation, and its answer passed on", async () => {
  const { service, calls } = measured(250);
  expect(await service.getOrCreate(aGroup())).toEqual({ isNew: true, group: GROUP });
  expect(await service.rotate("acme", GROUP.token)).toBe(GROUP);
  await service.remove(REMOVABLE);
  expect(calls).toEqual([
    { operation: "get", result: "ok", seconds: 0.25 },
    { operation: "post", result: "ok", seconds: 0.25 },
    { operation: "delete", result: "ok", seconds: 0.25 },
  ]);
});

test("a request that failed is told by its code, and fails all the same", async () => {
  const failure = new ServiceFailure("CONNECTION_LOST", "the connection broke");
  const { service, calls } = measured(40, failure);
  await expect(service.rotate("acme", GROUP.token)).rejects.toBe(failure);
  expect(calls).toEqual([{ operation: "post", result: "connection_lost", seconds: 0.04 }]);
});

test("a request that was held back at the last moment is none", async () => {
  const { service, calls } = measured(40);
  const leaseLost = (): void => {
    throw new SyncError("LEASE_LOST", "another instance is at work");
  };
  await expect(service.getOrCreate(aGroup(), leaseLost)).rejects.toThrow("another instance");
  expect(calls).toEqual([]);
});

/** A service whose answers take so many milliseconds, or fail. */
function measured(ms = 0, failure?: ServiceFailure) {
  const clock = aClock();
  const state = { requests: 0, failure };
  const answer = async <T>(value: T, beforeSend?: () => void): Promise<T> => {
    beforeSend?.();
    state.requests++;
    clock.elapsed += ms;
    if (state.failure) throw state.failure;
    return value;
  };
  const answering: GroupService = {
    getOrCreate: (_group, beforeSend) => answer({ isNew: true, group: GROUP }, beforeSend),
    rotate: (_id, _token, beforeSend) => answer(GROUP, beforeSend),
    remove: (_group, beforeSend) => answer(undefined, beforeSend),
    getWithWrongKey: (beforeSend) => answer(undefined, beforeSend),
    rotateNobody: (beforeSend) => answer(undefined, beforeSend),
  };
  const calls: MeasuredCall[] = [];
  const services = new MeasuredService(clock, (call) => calls.push(call));
  const run = (baseUrl = "https://a"): GroupService => services.forRun(answering, baseUrl);
  return { service: run(), calls, clock, state, run };
}

const HOUR = 3_600_000;
const REMOVABLE = { user_group_id: "acme", token: GROUP.token, dataSourceId: null };

const asks = (retryAfterMs: number): ServiceFailure =>
  new ServiceFailure("THROTTLED", "HTTP 429", { retryAfterMs });

describe("a pause that the service asks for", () => {
  test("what one run was asked for, the next one keeps to without a request, and not a moment longer", async () => {
    const { clock, state, run } = measured();
    state.failure = asks(HOUR);
    await expect(run().getOrCreate(aGroup())).rejects.toBe(state.failure);
    state.failure = undefined;
    clock.elapsed = HOUR / 2;
    const early = expect.objectContaining({ code: "THROTTLED", retryAfterMs: HOUR / 2 });
    await expect(run().getOrCreate(aGroup())).rejects.toEqual(early);
    await expect(run().rotate("acme", GROUP.token)).rejects.toEqual(early);
    await expect(run().remove(REMOVABLE)).rejects.toEqual(early);
    expect(state.requests).toBe(1);
    clock.elapsed = HOUR;
    await run().getOrCreate(aGroup());
    await run().rotate("acme", GROUP.token);
    await run().remove(REMOVABLE);
    expect(state.requests).toBe(4);
  });

  test("within one run nothing is held back: its throttle keeps to it", async () => {
    const { state, run } = measured();
    const service = run();
    state.failure = asks(HOUR);
    await expect(service.getOrCreate(aGroup())).rejects.toBe(state.failure);
    await expect(service.getOrCreate(aGroup())).rejects.toBe(state.failure);
    expect(state.requests).toBe(2);
  });

  test("it concerns one service, and no failure without a time", async () => {
    const { state, run } = measured();
    state.failure = new ServiceFailure("OVERLOADED", "HTTP 503");
    await expect(run().getOrCreate(aGroup())).rejects.toBe(state.failure);
    state.failure = asks(HOUR);
    await expect(run().getOrCreate(aGroup())).rejects.toBe(state.failure);
    await expect(run("https://b").getOrCreate(aGroup())).rejects.toBe(state.failure);
    expect(state.requests).toBe(3);
  });
});
