import { describe, expect, it } from "vitest";
import { ServiceFailure, type ServiceFailureCode } from "../../../src/core/failure/service-failure.ts";
import type { ProbeReport } from "../../../src/engine/probe.ts";
import { each, type Point } from "../../fakes/instance.ts";
import { type StartOptions, syncSettings, tenants, World } from "../../fakes/world.ts";

async function aWorld(): Promise<World> {
  const world = new World(tenants("a"));
  await world.sync();
  world.service.requests.length = 0;
  return world;
}

async function probe(world: World, options: StartOptions = {}): Promise<ProbeReport> {
  const report = await world.startProbe(options).report;
  if (report === "died") throw new Error("it died");
  return report;
}

const isCanary = (id: string | undefined): boolean => id?.startsWith("groupsync-canary-") === true;

/** The service's answer to every such call is this failure. `after`: it carries the call out all the same. */
const answers = (
  call: string,
  code: ServiceFailureCode,
  when: Point["when"] = "before",
  only = (_nth: number) => true,
) => {
  let nth = 0;
  return (point: Point): void => {
    if (point.call === call && point.when === when && only(++nth))
      throw new ServiceFailure(code, `it says ${code}`);
  };
};

/** Requests that name no group are refused as well. */
const refusesAll = (code: ServiceFailureCode) =>
  each(answers("rotateNobody", code), answers("getWithWrongKey", code));

const deletesOf = ({ findings }: ProbeReport): string[] =>
  findings?.deletes.map(({ fields, result }) => `${fields.join(", ")}: ${result}`) ?? [];

function expectNoTrace(world: World): void {
  expect([...world.service.groups.keys()]).toEqual(["a"]);
  expect(world.ledger.canary).toBeNull();
}

describe("a service that refuses a token", () => {
  it.each<ServiceFailureCode>(["KEY_REFUSED", "REFUSED", "BAD_RESPONSE", "SERVICE_ERROR"])(
    "with %s is understood",
    async (code) => {
      const world = await aWorld();
      let live: string | undefined;
      const at = ({ call, when }: Point): void => {
        if (call === "rotate" && when === "before") {
          if (live !== undefined) throw new ServiceFailure(code, `it says ${code}`);
          live = "taken";
        }
      };
      const report = await probe(world, { at });
      expect(report).toMatchObject({
        run: { outcome: "ok" },
        findings: { rotation: "a new token", oldToken: "refused", refusals: { oldToken: `it says ${code}` } },
      });
      expectNoTrace(world);
    },
  );

  it("with every POST gives no new token, and the old token is not asked about", async () => {
    const world = await aWorld();
    const { run, findings } = await probe(world, { at: answers("rotate", "REFUSED") });
    expect(run.outcome).toBe("ok");
    expect(findings).toMatchObject({ rotation: "refused", oldToken: null, getAfterRotation: null });
    expectNoTrace(world);
  });
});

describe("a DELETE", () => {
  it("that is answered with a server error as long as a field is missing is tried in the next form", async () => {
    const world = await aWorld();
    world.service.deleteBy = "token";
    // The first form fails with all its attempts.
    const report = await probe(world, {
      at: answers("remove", "SERVICE_ERROR", "before", (nth) => nth <= 8),
    });
    expect(deletesOf(report)).toEqual(["current_token: refused", "current_token, user_group_id: deleted"]);
    expectNoTrace(world);
  });

  it("that has its effect and is answered badly every time is told apart from one that works", async () => {
    const world = await aWorld();
    world.service.deleteBy = "token";
    const report = await probe(world, { at: answers("remove", "BAD_RESPONSE", "after") });
    expect(report.run.outcome).toBe("ok");
    expect(deletesOf(report)).toEqual(["current_token: deleted, bad answer"]);
    expectNoTrace(world);
  });

  it("that nobody answers ends the tries, and the canary stays in the ledger", async () => {
    const world = await aWorld();
    const report = await probe(world, { at: answers("remove", "TIMEOUT") });
    expect(report.run.error).toMatchObject({
      code: "CANARY_REMAINS",
      message: expect.stringContaining("TIMEOUT"),
    });
    expect(deletesOf(report)).toEqual(["current_token: failed"]);
    expect(isCanary(world.ledger.canary?.user_group_id)).toBe(true);
    await world.sync();
    expectNoTrace(world);
  });

  it("is not sent with a token that a tenant's group has, too", async () => {
    const world = await aWorld();
    world.service.deleteBy = "token";
    const at = ({ call, id = "" }: Point): void => {
      if (call === "getOrCreate" && isCanary(id)) world.service.sameToken.set(id, "a");
    };
    const report = await probe(world, { at });
    expect(report.run.error?.code).toBe("CANARY_REMAINS");
    expect(world.service.requests.filter(({ operation }) => operation !== "GET")).toEqual([]);
    expect(world.service.groups.has("a")).toBe(true);
  });
});

describe("a probe that the service stops in its middle", () => {
  it.each<ServiceFailureCode>(["KEY_REFUSED", "INTERMEDIARY_REFUSED"])("by %s asks no more", async (code) => {
    const world = await aWorld();
    const stops = answers("getOrCreate", code, "before", (nth) => nth >= 2);
    const { run, canary } = await probe(world, { at: each(stops, refusesAll(code)) });
    expect(run).toMatchObject({ requests: 3, error: { code } });
    expect(canary).toMatchObject({ isGone: false });
    expect(world.ledger.canary).not.toBeNull();
    await world.sync();
    expectNoTrace(world);
  });

  it("by failing says what was found out until then", async () => {
    const world = await aWorld();
    const { run, findings } = await probe(world, { at: answers("rotate", "TIMEOUT") });
    expect(run.error?.code).toBe("TIMEOUT");
    expect(findings).toMatchObject({ update: "keeps", rotation: null, oldToken: null });
    expect(world.ledger.service.updates).toBe(false);
    expectNoTrace(world);
  });
});

it("the sync after a killed probe waits until the probe's calls have ended", async () => {
  for (const operation of ["GET", "POST", "DELETE"]) {
    const world = await aWorld();
    world.service.deleteBy = "both";
    const started = world.startProbe();
    world.network = async (request) => {
      if (request.operation !== operation || !isCanary(request.id)) return;
      world.network = async () => {};
      started.instance.kill();
      // It arrives while the next sync could be at work already.
      await world.time.sleep(14_000);
    };
    expect(await started.report).toBe("died");
    // It takes the lease at once, because the dead process was on the same machine.
    const lease = { ...syncSettings().lease, isDead: async () => true };
    expect(await world.sync({ settings: { lease } })).toMatchObject({ outcome: "ok" });
    await world.time.sleep(60_000);
    expectNoTrace(world);
  }
});
