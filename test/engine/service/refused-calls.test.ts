import { describe, expect, it } from "vitest";
import { ServiceFailure, type ServiceFailureCode } from "../../../src/core/failure/service-failure.ts";
import type { Point } from "../../fakes/instance.ts";
import type { Sent } from "../../fakes/service.ts";
import { aSyncedWorld, type StartOptions, tenants, World } from "../../fakes/world.ts";

const IDS = Array.from({ length: 39 }, (_, n) => `t${String(n).padStart(2, "0")}`);
const HOUR = 3_600_000;

type Refusal = Extract<ServiceFailureCode, "KEY_REFUSED" | "INTERMEDIARY_REFUSED">;
const CODES: readonly Refusal[] = ["KEY_REFUSED", "INTERMEDIARY_REFUSED"];

/** Something refuses the GETs of these groups, and nothing else. */
const refusing =
  (code: Refusal, ...ids: string[]) =>
  ({ when, call, id = "" }: Point): void => {
    if (when === "before" && call === "getOrCreate" && ids.includes(id))
      throw new ServiceFailure(code, "GET was answered HTTP 403: blocked");
  };

/** What a neutral request names in place of a group. */
const NOBODY = "";

const settings = { concurrency: 16 };
const synced = async (world: World, options: StartOptions = {}) => {
  await world.time.sleep(HOUR);
  return world.sync({ settings, ...options });
};

describe.each(CODES)("%s for one group", (code) => {
  it.each([["t00"], ["t06"], ["t38"]])("fails that group alone, for one request more: %s", async (id) => {
    const world = new World(tenants(...IDS));
    const report = await world.sync({ settings, at: refusing(code, id) });
    expect(report).toMatchObject({ outcome: "partial", counts: { created: 38, failed: 1 } });
    expect(report.requests).toBe(IDS.length + 1);
    expect(report.errors).toEqual([
      { user_group_id: id, code: "REFUSED", message: expect.stringContaining("HTTP 403") },
    ]);
    expect(world.ledger.rows.get(id)?.failures).toMatchObject({ change: { count: 1 } });
    expect(await synced(world)).toMatchObject({ outcome: "ok", counts: { created: 1 } });
  });

  it("ends the run after three groups in a row", async () => {
    const world = new World(tenants(...IDS));
    const at = refusing(code, ...IDS);
    const report = await world.sync({ settings: { concurrency: 1 }, at });
    expect(report).toMatchObject({
      outcome: "failed",
      error: { code: "SERVICE_UNAVAILABLE", message: expect.stringContaining('"t02"'), cause: { code } },
      counts: { failed: 3 },
    });
    // Those three wait, so the next run gets to others.
    expect(await world.sync({ settings, at: refusing(code, "t00", "t01", "t02") })).toMatchObject({
      counts: { created: 36 },
    });
  });

  it("for three groups keeps nothing from everybody else, in the run after the first or in any later one", async () => {
    const world = await aSyncedWorld(["a", "gone"]);
    const odd = ["w1", "w2", "w3"];
    world.tenants = tenants("a", ...odd);
    const at = refusing(code, ...odd);
    expect(await world.sync({ at })).toMatchObject({ outcome: "failed", counts: { failed: 3 } });
    expect(await world.sync({ at })).toMatchObject({ outcome: "partial", counts: { deleted: 1 } });
    for (let n = 0; n < 5; n++) expect((await synced(world, { at })).outcome).toBe("partial");
  });
});

it("a 403 for the rotations of three groups keeps nothing from the rotation of others", async () => {
  const world = await aSyncedWorld(["a", "b", "c", "d", "e"]);
  const at = ({ when, call, id = "" }: Point): void => {
    if (when === "before" && call === "rotate" && "abc".includes(id))
      throw new ServiceFailure("KEY_REFUSED", "POST was answered HTTP 403: blocked");
  };
  const rotate = () => world.startRotation({ kind: "all" }, { at }).report;
  expect(await rotate()).toMatchObject({ outcome: "failed", counts: { failed: 3 } });
  expect(await rotate()).toMatchObject({ outcome: "partial", counts: { failed: 3 } });
  expect(new Set(world.service.tokens.values())).toEqual(new Set(world.store.tokens.values()));
});

describe.each(CODES)("%s for everybody", (code) => {
  it("ends the run, charges no group, and is found out by one request", async () => {
    const world = new World(tenants(...IDS.slice(0, 20)));
    await world.sync({ settings });
    world.tenants = tenants(...IDS);
    const sent: string[] = [];
    world.network = async ({ id }: Sent) => {
      sent.push(id);
      if (id === "t20") return;
      await world.time.sleep(100);
      throw new ServiceFailure(code, "HTTP 403: no");
    };
    const report = await world.sync({ settings });
    expect(report).toMatchObject({ outcome: "failed", error: { code }, counts: { failed: 0, created: 1 } });
    expect(sent.length).toBeGreaterThan(8);
    expect(sent.filter((id) => id === NOBODY)).toHaveLength(1);
    expect([...world.ledger.rows.values()].filter(({ failures }) => failures.change !== null)).toEqual([]);
    world.network = async () => {};
    expect(await synced(world)).toMatchObject({ outcome: "ok", counts: { created: 18 } });
  });
});

describe("a revoked key charges no group", () => {
  const revoked = async (): Promise<never> => {
    throw new ServiceFailure("KEY_REFUSED", "HTTP 401: no such key");
  };

  it("of a rotation, whether a GET can ask for its token or not", async () => {
    for (const isAskable of [true, false]) {
      const world = await aSyncedWorld(["a", "b"]);
      for (const [id, row] of world.ledger.rows)
        if (!isAskable) world.ledger.rows.set(id, { ...row, confirmed: null });
      world.network = revoked;
      expect(await world.startRotation({ kind: "all" }).report).toMatchObject({
        error: { code: "KEY_REFUSED" },
        counts: { failed: 0 },
      });
      expect([...world.ledger.rows.values()].map(({ failures }) => failures.rotation)).toEqual([null, null]);
    }
  });

  it("of a deletion", async () => {
    const world = await aSyncedWorld(["a", "b"]);
    world.tenants = tenants("a");
    world.network = revoked;
    expect(await world.sync()).toMatchObject({ error: { code: "KEY_REFUSED" }, counts: { failed: 0 } });
    world.network = async () => {};
    expect(await synced(world)).toMatchObject({ outcome: "ok", counts: { deleted: 1 } });
  });
});
