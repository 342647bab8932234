import { expect, test } from "vitest";
import { ServiceFailure } from "../../../src/core/failure/service-failure.ts";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import { Secret } from "../../../src/core/secret/secret.ts";
import { type MeasuredCall, measuredService } from "../../../src/daemon/metrics/measured-service.ts";
import type { GroupService } from "../../../src/ports/group-service.ts";
import { aGroup } from "../../builders/groups.ts";
import { aClock } from "../../fakes/set-clock.ts";

const GROUP = { teamId: 1, token: new Secret("ugt_1"), name: "Acme" };

test("each request is told by its operation, and its answer passed on", async () => {
  const { service, calls } = measured(250);
  expect(await service.getOrCreate(aGroup())).toEqual({ isNew: true, group: GROUP });
  expect(await service.rotate("acme", GROUP.token)).toBe(GROUP);
  await service.remove({ user_group_id: "acme", token: GROUP.token, dataSourceId: null });
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
function measured(ms: number, failure?: ServiceFailure) {
  const clock = aClock();
  const answer = async <T>(value: T, beforeSend?: () => void): Promise<T> => {
    beforeSend?.();
    clock.elapsed += ms;
    if (failure) throw failure;
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
  return { service: measuredService(answering, clock, (call) => calls.push(call)), calls };
}
