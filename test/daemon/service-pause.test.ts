import { expect, test } from "vitest";
import { ServiceFailure } from "../../src/core/failure/service-failure.ts";
import { Secret } from "../../src/core/secret/secret.ts";
import { servicePause } from "../../src/daemon/service-pause.ts";
import type { GroupService } from "../../src/ports/group-service.ts";
import { aGroup } from "../builders/groups.ts";
import { aClock } from "../fakes/set-clock.ts";

const HOUR = 3_600_000;
const GROUP = { teamId: 1, token: new Secret("ugt_1"), name: "Acme" };
const REMOVABLE = { user_group_id: "acme", token: GROUP.token, dataSourceId: null };

function aPause() {
  const clock = aClock();
  const unlessPaused = servicePause(clock);
  const state: { requests: number; failure: ServiceFailure | undefined } = {
    requests: 0,
    failure: undefined,
  };
  const answer = async <T>(value: T): Promise<T> => {
    state.requests++;
    if (state.failure) throw state.failure;
    return value;
  };
  const service: GroupService = {
    getOrCreate: () => answer({ isNew: true, group: GROUP }),
    rotate: () => answer(GROUP),
    remove: () => answer(undefined),
    getWithWrongKey: () => answer(undefined),
    rotateNobody: () => answer(undefined),
  };
  const run = (baseUrl = "https://a"): GroupService => unlessPaused(service, baseUrl);
  return { clock, state, run };
}

const asks = (retryAfterMs: number): ServiceFailure =>
  new ServiceFailure("THROTTLED", "HTTP 429", { retryAfterMs });

test("what one run was asked for, the next one keeps to without a request, and not a moment longer", async () => {
  const { clock, state, run } = aPause();
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
  const { state, run } = aPause();
  const service = run();
  state.failure = asks(HOUR);
  await expect(service.getOrCreate(aGroup())).rejects.toBe(state.failure);
  await expect(service.getOrCreate(aGroup())).rejects.toBe(state.failure);
  expect(state.requests).toBe(2);
});

test("it concerns one service, and no failure without a time", async () => {
  const { state, run } = aPause();
  state.failure = new ServiceFailure("OVERLOADED", "HTTP 503");
  await expect(run().getOrCreate(aGroup())).rejects.toBe(state.failure);
  state.failure = asks(HOUR);
  await expect(run().getOrCreate(aGroup())).rejects.toBe(state.failure);
  await expect(run("https://b").getOrCreate(aGroup())).rejects.toBe(state.failure);
  expect(state.requests).toBe(3);
});
