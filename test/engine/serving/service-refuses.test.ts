import { describe, expect, it } from "vitest";
import { ServiceFailure, type ServiceFailureCode } from "../../../src/core/failure/service-failure.ts";
import type { Point } from "../../fakes/instance.ts";
import { aSyncedWorld, tenants, World } from "../../fakes/world.ts";
import { aSession, stored } from "./a-session.ts";

/** The service answers every call so. */
const answering =
  (code: ServiceFailureCode) =>
  ({ when, call }: Point): void => {
    if (when === "before" && CALLS.includes(call)) throw new ServiceFailure(code, `it says ${code}`);
  };

/** Those that are sent here, and what tells whether a refusal concerns everybody. */
const CALLS = ["getOrCreate", "rotateNobody", "getWithWrongKey"];

/** Everybody is in sync, and then somebody signs up. */
async function aSignUp(): Promise<World> {
  const world = await aSyncedWorld(["a", "b"]);
  world.tenants.push(...tenants("new"));
  return world;
}

describe.each<[ServiceFailureCode, string]>([
  ["KEY_REFUSED", "KEY_REFUSED"],
  ["INTERMEDIARY_REFUSED", "INTERMEDIARY_REFUSED"],
  ["UNREACHABLE", "SERVICE_UNAVAILABLE"],
])("%s ends the run as failed with %s", (code, ends) => {
  const failed = { outcome: "failed", error: { code: ends }, counts: { failed: 0 } };

  it("if the call was sent beside the full sync, which has sent none", async () => {
    const world = await aSignUp();
    const session = aSession(world, { at: answering(code) });
    session.server.notice("new");
    expect(await session.run).toMatchObject(failed);
    expect(world.ledger.runs[0]?.result).toMatchObject(failed);
    expect(stored(world)).toEqual(["a", "b"]);
  });
});

it("a refusal beside a full sync ends it, although its own call is answered well", async () => {
  const world = new World(tenants("slow"));
  const session = aSession(world, {
    at: async (point) => {
      if (point.when === "before" && point.call === "getOrCreate" && point.id === "slow")
        await world.time.sleep(10_000);
      else answering("KEY_REFUSED")(point);
    },
  });
  await world.time.sleep(1_000);
  world.tenants.push(...tenants("new"));
  session.server.notice("new");
  expect(await session.run).toMatchObject({
    outcome: "failed",
    error: { code: "KEY_REFUSED" },
    counts: { created: 1, failed: 0 },
  });
});

it.each<ServiceFailureCode>(["KEY_REFUSED", "INTERMEDIARY_REFUSED"])(
  "%s for a single tenant alone ends no run",
  async (code) => {
    const session = aSession(await aSignUp(), {
      at: (point) => {
        if (point.id === "new") answering(code)(point);
      },
    });
    session.server.notice("new");
    expect(await session.run).toMatchObject({ outcome: "partial", counts: { failed: 1 } });
    await session.end();
  },
);

it("a group that fails alone ends no run, even if the run's only call is for it", async () => {
  const session = aSession(await aSignUp(), { at: answering("SERVICE_ERROR") });
  session.server.notice("new");
  expect(await session.run).toMatchObject({ outcome: "partial", counts: { failed: 1 } });
});
