import { describe, expect, it } from "vitest";
import { doesUpdate, NO_EVIDENCE } from "../../src/core/apply/update-evidence.ts";
import { ServiceFailure, type ServiceFailureCode } from "../../src/core/failure/service-failure.ts";
import type { ProbeReport } from "../../src/engine/probe.ts";
import { each, type Point } from "../fakes/instance.ts";
import { aSyncedWorld, type StartOptions, syncSettings, tenants, World } from "../fakes/world.ts";

type Behaviour = Partial<
  Pick<World["service"], "existing" | "deleteBy" | "needsDataSource" | "keepsOldTokens" | "repeatsName">
>;

async function aWorld(behaviour: Behaviour = {}): Promise<World> {
  const world = await aSyncedWorld(["a", "b"]);
  Object.assign(world.service, behaviour);
  world.service.requests.length = 0;
  return world;
}

async function probe(world: World, options: StartOptions = {}): Promise<ProbeReport> {
  const report = await world.startProbe(options).report;
  if (report === "died") throw new Error("it died");
  return report;
}

const isCanary = (id: string | undefined): boolean => id?.startsWith("groupsync-canary-") === true;

/** Those in the ledger. */
const canariesOf = ({ ledger }: World): string[] =>
  [...ledger.rows].flatMap(([id, { absence }]) => (absence?.kind === "canary" ? [id] : []));

const canariesAt = (world: World): string[] => [...world.service.groups.keys()].filter(isCanary);

/** Expects that nothing of a canary is left, and that the tenants are as they were. */
function expectNoTrace(world: World): void {
  expect(canariesAt(world)).toEqual([]);
  expect([...world.ledger.rows.keys()].sort()).toEqual(["a", "b"]);
  expect([...world.service.groups.keys()].sort()).toEqual(["a", "b"]);
  expect(world.store.tokens).toEqual(world.service.tokens);
  expect(world.ledger.removals).toEqual([]);
  expect(world.ledger.formerTokens).toEqual([]);
}

const deletesOf = ({ findings }: ProbeReport): string[] =>
  findings?.deletes.map(({ fields, result }) => `${fields.join(", ")}: ${result}`) ?? [];

/** The service's answer to these calls is this failure. `after`: it carries the call out all the same. */
const failing = (
  code: ServiceFailureCode,
  call: string,
  when: Point["when"] = "before",
  from = 1,
  to = Number.POSITIVE_INFINITY,
) => {
  let nth = 0;
  return (point: Point): void => {
    if (point.call !== call || point.when !== when) return;
    nth++;
    if (nth >= from && nth <= to) throw new ServiceFailure(code, `the service: ${code}`);
  };
};

const noDelete = () => failing("REFUSED", "remove");

describe("the probe finds out", () => {
  it.each<[Behaviour, string[]]>([
    [{ deleteBy: "token" }, ["current_token, user_group_id: deleted"]],
    [{ deleteBy: "both" }, ["current_token, user_group_id: deleted"]],
    [
      { deleteBy: "id", needsDataSource: true },
      [
        "current_token, user_group_id: refused",
        "current_token, user_group_id, data_source_provided_id: deleted",
      ],
    ],
  ])("which fields a DELETE needs: %o", async (behaviour, expected) => {
    const world = await aWorld(behaviour);
    const report = await probe(world);
    expect(report.run.outcome).toBe("ok");
    expect(deletesOf(report)).toEqual(expected);
    expectNoTrace(world);
    const named = world.service.requests.flatMap(({ dataSourceId }) => dataSourceId ?? []);
    expect(named.filter((id) => id !== report.canary?.user_group_id)).toEqual([]);
  });

  it("all of it, even if the answers of the first calls of each kind get lost", async () => {
    for (const call of ["getOrCreate", "rotate", "remove"]) {
      for (let nth = 1; nth <= 5; nth++) {
        const world = await aWorld();
        const report = await probe(world, { at: failing("CONNECTION_LOST", call, "after", nth, nth) });
        expect({ call, nth, findings: report.findings }).toMatchObject({
          findings: { update: "keeps", rotation: "a new token", old_token: "refused" },
        });
        expect(deletesOf(report)).toEqual(["current_token, user_group_id: deleted"]);
        expectNoTrace(world);
      }
    }
  });

  it.each<ServiceFailureCode>(["KEY_REFUSED", "REFUSED", "BAD_RESPONSE", "SERVICE_ERROR"])(
    "that a token is refused with %s",
    async (code) => {
      const world = await aWorld();
      const report = await probe(world, { at: failing(code, "rotate", "before", 2) });
      expect(report).toMatchObject({
        run: { outcome: "ok" },
        findings: {
          rotation: "a new token",
          old_token: "refused",
          refusals: { old_token: `the service: ${code}` },
        },
      });
      expectNoTrace(world);
    },
  );

  it("that every POST is refused, and doesn't ask about the old token then", async () => {
    const world = await aWorld();
    const { run, findings } = await probe(world, { at: failing("REFUSED", "rotate") });
    expect(run.outcome).toBe("ok");
    expect(findings).toMatchObject({ rotation: "refused", old_token: null, get_after_rotation: null });
    expectNoTrace(world);
  });

  it("what it can until the service fails", async () => {
    const world = await aWorld();
    const { run, findings } = await probe(world, { at: failing("TIMEOUT", "rotate") });
    expect(run.error?.code).toBe("TIMEOUT");
    expect(findings).toMatchObject({ update: "keeps", rotation: null, old_token: null });
    expect(doesUpdate(world.ledger.service.evidence)).toBe(false);
    expectNoTrace(world);
  });

  it.each<ServiceFailureCode>(["KEY_REFUSED", "INTERMEDIARY_REFUSED"])(
    "nothing more once %s concerns everybody",
    async (code) => {
      const world = await aWorld();
      const refusesAll = [failing(code, "rotateNobody"), failing(code, "getWithWrongKey")];
      const { run, canary } = await probe(world, {
        at: each(failing(code, "getOrCreate", "before", 2), ...refusesAll),
      });
      expect(run).toMatchObject({ requests: 3, error: { code } });
      expect(canary).toMatchObject({ gone: false });
      expect(canariesOf(world)).toEqual([canary?.user_group_id]);
      await world.sync();
      expectNoTrace(world);
    },
  );
});

describe("a DELETE", () => {
  it("that is answered with a server error as long as a field is missing is tried in the next form", async () => {
    const world = await aWorld();
    // The first form fails with all its attempts.
    const report = await probe(world, { at: failing("SERVICE_ERROR", "remove", "before", 1, 8) });
    expect(deletesOf(report)).toEqual([
      "current_token, user_group_id: refused",
      "current_token, user_group_id, data_source_provided_id: deleted",
    ]);
    expectNoTrace(world);
  });

  it.each<[string, ServiceFailureCode, Point["when"], string]>([
    ["nobody answers", "TIMEOUT", "before", "failed"],
    ["has its effect and is answered badly every time", "BAD_RESPONSE", "after", "deleted"],
  ])("that %s ends the tries, and the canary stays in the ledger", async (_, code, when, result) => {
    const world = await aWorld();
    const report = await probe(world, { at: failing(code, "remove", when) });
    expect(report.run.error).toMatchObject({
      code: "CANARY_REMAINS",
      message: expect.stringContaining(code),
    });
    expect(deletesOf(report)).toEqual([`current_token, user_group_id: ${result}`]);
    expect(canariesOf(world)).toEqual([report.canary?.user_group_id]);
    await world.sync();
    expectNoTrace(world);
  });

  it("that is answered well and deletes nothing is no deletion, and the canary stays in the ledger", async () => {
    const world = await aWorld();
    world.service.deletes = false;
    const report = await probe(world);
    expect(report).toMatchObject({ canary: { gone: false }, run: { error: { code: "CANARY_REMAINS" } } });
    expect(deletesOf(report)).toEqual([
      "current_token, user_group_id: refused",
      "current_token, user_group_id, data_source_provided_id: refused",
    ]);
    expect(canariesAt(world)).toEqual(canariesOf(world));
    world.service.deletes = true;
    await world.sync();
    expectNoTrace(world);
  });

  it("is not sent with a token that a tenant's group has, too", async () => {
    const world = await aWorld({ deleteBy: "token" });
    const at = ({ call, id = "" }: Point): void => {
      if (call === "getOrCreate" && isCanary(id)) world.service.sameToken.set(id, "a");
    };
    const report = await probe(world, { at });
    expect(report.run.error?.code).toBe("CANARY_REMAINS");
    expect(world.service.requests.filter(({ operation }) => operation !== "GET")).toEqual([]);
    expect(world.service.groups.has("a")).toBe(true);
  });
});

describe("a canary that can't be made changes nothing", () => {
  it.each<[ServiceFailureCode, number]>([
    ["KEY_REFUSED", 2],
    ["REFUSED", 1],
  ])("%s", async (code, requests) => {
    const world = await aWorld();
    const at = each(failing(code, "getOrCreate"), failing(code, "rotateNobody"));
    const { run, findings, canary } = await probe(world, { at });
    expect(run).toMatchObject({ outcome: "failed", error: { code }, requests });
    expect({ findings, canary }).toMatchObject({ findings: null, canary: { gone: true } });
    expectNoTrace(world);
  });

  it("because the key belongs to another team", async () => {
    const world = await aWorld();
    world.service.teamId = 8;
    const { run } = await probe(world);
    expect(run.error?.code).toBe("TEAM_CHANGED");
    expect(world.service.groups.size).toBe(0);
    expect(canariesOf(world)).toEqual([]);
  });
});

it("no token store is touched, and a ledger that seems to be lost still seems so afterwards", async () => {
  const world = await aWorld();
  world.ledger.clear();
  const { owner } = world.store;
  const { instance, events, report } = world.startProbe();
  expect(await report).toMatchObject({
    run: { outcome: "ok" },
    findings: { update: "keeps" },
    updates: null,
  });
  expect(events).toContainEqual(expect.objectContaining({ kind: "warning", code: "LEDGER_EMPTY" }));
  expect(world.ledger.service).toMatchObject({ baseUrl: null, teamId: null, evidence: NO_EVIDENCE });
  expect(world.store.owner).toBe(owner);
  const touched = /^(prepare|claim|write|remove|rewrite|read)Token/;
  expect(instance.passed.filter(({ call }) => touched.test(call))).toEqual([]);
  expect(canariesOf(world)).toEqual([]);
});

describe("a canary that nobody can delete", () => {
  it("is told, and tried again by the next sync and the next probe", async () => {
    const world = await aWorld();
    const { run, canary } = await probe(world, { at: noDelete() });
    expect(run.error).toMatchObject({ code: "CANARY_REMAINS" });
    const id = canary?.user_group_id ?? "";
    expect(run.error?.message).toContain(id);
    expect(canariesAt(world)).toEqual([id]);
    expect(canariesOf(world)).toEqual([id]);

    expect(await world.start({ at: noDelete() }).report).toMatchObject({
      outcome: "partial",
      errors: [{ user_group_id: id, code: "REFUSED" }],
      counts: { unchanged: 2, failed: 1 },
    });

    const again = await probe(world, { at: noDelete() });
    expect(again).toMatchObject({ canary: null, run: { error: { code: "CANARY_REMAINS" } } });
    expect(canariesAt(world)).toEqual([id]);

    await world.time.sleep(6 * 3_600_000);
    expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { deleted: 0 } });
    expectNoTrace(world);
    expect(await world.sync()).toMatchObject({ requests: 0 });
  });

  it("is deleted whatever the policy for tenants is, and `rotate --all` passes it over", async () => {
    const world = await aWorld();
    await probe(world, { at: noDelete() });
    expect(await world.rotate()).toMatchObject({ outcome: "ok", counts: { rotated: 2 } });
    const deletion = { when: "never", gracePeriodMs: 1, limit: { count: 0, percent: 0 } } as const;
    expect(await world.sync({ settings: { deletion, source: "another" } })).toMatchObject({
      outcome: "ok",
      counts: { held: 0, missing: 0, deleted: 0 },
    });
    expect(canariesAt(world)).toEqual([]);
  });

  it("is left alone if service.base_url is another one now, and told with what helps", async () => {
    const world = new World(tenants("a"));
    const dies = ({ call, when }: Point): Promise<void> | undefined =>
      call === "remove" && when === "before" ? new Promise(() => {}) : undefined;
    const died = world.startProbe({ at: dies });
    await world.time.sleep(10_000);
    died.instance.kill();
    const [id] = canariesAt(world);
    await world.time.sleep(60_000);
    const settings = { baseUrl: "https://elsewhere.example.com" };
    expect(await world.sync({ settings })).toMatchObject({
      outcome: "partial",
      counts: { created: 1, failed: 1 },
      errors: [{ user_group_id: id, code: "CANARY_REMAINS", message: expect.stringContaining("--forget") }],
    });
    expect(world.sent.filter((sent) => sent.startsWith("DELETE"))).toEqual([]);
  });

  it("belongs to a tenant once one has its id", async () => {
    const world = await aWorld({ existing: "update" });
    const id = (await probe(world, { at: noDelete() })).canary?.user_group_id ?? "";
    world.tenants.push(...tenants(id));
    expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { deleted: 0 } });
    expect(canariesOf(world)).toEqual([]);
    expect(world.service.groups.has(id)).toBe(true);
    expect(world.store.tokens).toEqual(world.service.tokens);
  });
});

describe("wherever a probe dies, the next sync leaves no canary:", () => {
  const KINDS: Behaviour[] = [
    { existing: "keep", deleteBy: "both" },
    { existing: "update", deleteBy: "token" },
    { existing: "keep", deleteBy: "id" },
    { existing: "update", deleteBy: "both", needsDataSource: true },
    { existing: "keep", deleteBy: "token", keepsOldTokens: true, repeatsName: true },
  ];

  it.each(KINDS)("%o", async (behaviour) => {
    for (let diesAt = 0, end: unknown = "died"; end === "died"; diesAt++) {
      const world = await aWorld(behaviour);
      end = await world.startProbe({ diesAt }).report;
      // The ledger knows the canary that the service has.
      for (const id of canariesAt(world)) expect(canariesOf(world)).toEqual([id]);
      expect({ diesAt, ...(await world.sync()) }).toMatchObject({
        diesAt,
        outcome: "ok",
        counts: { unchanged: 2, deleted: 0, adopted: 0, failed: 0 },
        errors: [],
      });
      expectNoTrace(world);
      expect(await world.sync()).toMatchObject({ outcome: "ok", requests: 0 });
    }
  });

  it("even if that sync dies, too", async () => {
    let left: World | undefined;
    for (let diesAt = 0, end: unknown = "died"; end === "died"; diesAt++) {
      const world = await aWorld();
      await probe(world, { at: noDelete() });
      left = world;
      end = await world.start({ diesAt }).report;
      expect({ diesAt, ...(await world.sync()) }).toMatchObject({ diesAt, outcome: "ok" });
      expectNoTrace(world);
    }
    expect(left).toBeDefined();
  });
});

it("the sync after a killed probe waits until the probe's calls have ended", async () => {
  for (const operation of ["GET", "POST", "DELETE"]) {
    const world = await aWorld({ deleteBy: "both" });
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
