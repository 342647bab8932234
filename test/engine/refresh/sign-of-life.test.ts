import { describe, expect, test } from "vitest";
import { ServiceFailure, type ServiceFailureCode } from "../../../src/core/failure/service-failure.ts";
import { Silence } from "../../../src/engine/refresh/sign-of-life.ts";
import type { SyncSettings } from "../../../src/engine/sync.ts";
import type { Point } from "../../fakes/instance.ts";
import { type StartOptions, tenants, World } from "../../fakes/world.ts";
import { aSession } from "../serving/a-session.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const KEEPS = { when: "absent", gracePeriodMs: HOUR, limit: { count: 1, percent: 0 } } as const;

/** A sync of a daemon. */
const sync = (world: World, { settings, ...options }: StartOptions = {}) =>
  world.sync({ ...options, settings: { refresh: { everyMs: null, silence: new Silence() }, ...settings } });

/** Groups that were verified in this order, a minute apart, and an hour in which nothing was sent. */
async function aSilentWorld(...ids: string[]): Promise<World> {
  const world = new World();
  world.service.existing = "update";
  for (const id of ids) {
    world.tenants.push(...tenants(id));
    await world.sync({ settings: { deletion: KEEPS } });
    await world.time.sleep(MINUTE);
  }
  await world.time.sleep(HOUR);
  world.service.requests.length = 0;
  return world;
}

const sent = (world: World): string[] =>
  world.service.requests.splice(0).map(({ operation, id }) => (id === "" ? operation : `${operation} ${id}`));

/** Every request fails with this code. */
const failing =
  (code: ServiceFailureCode, times = Number.POSITIVE_INFINITY) =>
  ({ when, call }: Point): void => {
    if (when === "before" && ["getOrCreate", "rotateNobody", "getWithWrongKey"].includes(call) && times-- > 0)
      throw new ServiceFailure(code, `it was answered ${code}`);
  };

describe("a daemon's sync that has nothing to send", () => {
  test("asks for the group that was verified longest ago once the service was silent for an hour", async () => {
    const world = await aSilentWorld("b", "a", "c");
    expect(await sync(world)).toMatchObject({ outcome: "ok", requests: 1, counts: { refreshed: 1 } });
    await world.time.sleep(HOUR - 1);
    expect(await sync(world)).toMatchObject({ outcome: "ok", requests: 0 });
    await world.time.sleep(1);
    await sync(world);
    expect(sent(world)).toEqual(["GET b", "GET a"]);
  });

  test("heals, counts and tells what the GET finds", async () => {
    const world = await aSilentWorld("a", "b");
    const held = world.service.groups.get("a");
    if (held) held.token = world.service.newToken("a");
    const { counts } = await sync(world);
    expect(counts.drift).toEqual({ token: 1, gone: 0, name: 0 });
    expect(world.store.tokens).toEqual(world.service.tokens);
  });

  test("passes over a group of a rejected row, of a missing tenant, and one under way", async () => {
    const world = await aSilentWorld("rejected", "missing", "underway", "a");
    world.tenants = world.tenants
      .filter(({ id }) => id !== "missing")
      .map((tenant) => (tenant.id === "rejected" ? { ...tenant, name: null } : tenant));
    const row = world.ledger.rows.get("underway");
    if (row) world.ledger.rows.set("underway", { ...row, intent: "rotate" });
    await sync(world, { settings: { deletion: KEEPS }, at: failing("REFUSED", 1) });
    expect(sent(world)).toEqual(["GET a"]);
  });

  test.each<[string, Partial<SyncSettings>, (world: World) => void]>([
    ["there is no such group", { deletion: KEEPS }, (world) => (world.tenants = [])],
    ["service.update is never", { update: "never" }, () => {}],
    [
      "too many groups were gone",
      { deletion: KEEPS },
      (world) => {
        for (const user_group_id of ["x", "y"])
          world.ledger.enter({ kind: "gone", user_group_id, at: world.time.now() });
      },
    ],
  ])("sends a POST with a token of nobody if %s", async (_, settings, change) => {
    const world = await aSilentWorld("a", "b");
    change(world);
    expect((await sync(world, { settings })).error).toBeUndefined();
    await world.time.sleep(5 * MINUTE);
    await sync(world, { settings });
    expect(sent(world)).toEqual(["POST"]);
  });

  test("asks nothing if it is no daemon's, or if the service was never asked for a group", async () => {
    const world = await aSilentWorld("a");
    await world.sync();
    const unused = new World();
    await sync(unused);
    expect([...sent(world), ...sent(unused)]).toEqual([]);
  });
});

describe.each([
  ["a GET", {}],
  ["a POST", { update: "never" }],
] as const)("%s that fails", (_, settings) => {
  test.each(["KEY_REFUSED", "SERVICE_ERROR", "TIMEOUT", "THROTTLED"] as const)(
    "with %s is repeated twice within three minutes, and is no failure if one is answered",
    async (code) => {
      const world = await aSilentWorld("a", "b");
      const began = world.time.now().getTime();
      const report = await sync(world, { settings, at: failing(code, 2) });
      expect(report).toMatchObject({ outcome: "ok", counts: { failed: 0 } });
      expect(world.time.now().getTime() - began).toBeLessThanOrEqual(3 * MINUTE);
      expect(world.ledger.service.answeredAt?.getTime()).toBeGreaterThanOrEqual(began);
    },
  );

  test.each([
    ["KEY_REFUSED", "KEY_REFUSED"],
    ["SERVICE_ERROR", "SERVICE_UNAVAILABLE"],
    ["UNREACHABLE", "SERVICE_UNAVAILABLE"],
    ["BAD_RESPONSE", "SERVICE_UNAVAILABLE"],
  ] as const)("with %s each time ends the run with %s, and charges no group", async (code, error) => {
    const world = await aSilentWorld("a", "b");
    const report = await sync(world, { settings, at: failing(code) });
    expect(report).toMatchObject({ outcome: "failed", error: { code: error }, counts: { failed: 0 } });
    expect(world.ledger.runs[0]?.result).toMatchObject({ outcome: "failed", error: { code: error } });
    await sync(world);
    expect((await sync(world)).outcome).toBe("ok");
    expect([...world.ledger.rows.values()].map(({ intent }) => intent)).toEqual([null, null]);
  });
});

/** The service answers these calls so, and every other one well. */
const answering =
  (answers: Readonly<Record<string, ServiceFailure | (() => ServiceFailure)>>, ...ids: string[]) =>
  ({ when, call, id }: Point): void => {
    const answer = answers[call];
    if (when !== "before" || answer === undefined || (ids.length > 0 && !ids.includes(id ?? ""))) return;
    throw answer instanceof ServiceFailure ? answer : answer();
  };
const refused = (words: string) => new ServiceFailure("KEY_REFUSED", `HTTP 401: ${words}`);

describe("only a clear answer to the POST is a sign of life", () => {
  const never = { update: "never" } as const;

  test.each<[string, ServiceFailure, string]>([
    [
      "502",
      new ServiceFailure("SERVICE_ERROR", "POST was answered HTTP 502 with HTML"),
      "SERVICE_UNAVAILABLE",
    ],
    [
      "a login page",
      new ServiceFailure("BAD_RESPONSE", "POST was answered HTTP 403 with HTML"),
      "SERVICE_UNAVAILABLE",
    ],
  ])("%s ends the run, although a wrong key is refused", async (_, answer, code) => {
    const world = await aSilentWorld("a");
    const at = answering({ rotateNobody: answer, getWithWrongKey: refused("no such key") });
    expect(await sync(world, { settings: never, at })).toMatchObject({ outcome: "failed", error: { code } });
  });

  test("a refusal like that of a wrong key ends the run, whatever the id of the request is", async () => {
    const world = await aSilentWorld("a");
    let n = 0;
    const invalid = () => refused(`invalid API key (request ${++n})`);
    const at = answering({ getOrCreate: invalid, rotateNobody: invalid, getWithWrongKey: invalid });
    for (const settings of [never, {}])
      expect(await sync(world, { settings, at })).toMatchObject({
        outcome: "failed",
        error: { code: "KEY_REFUSED" },
        counts: { failed: 0 },
      });
  });

  test("after a refusal that may be of the key or of the token, nothing is known, and nothing asked for an hour", async () => {
    const world = await aSilentWorld("a");
    const before = world.ledger.service.answeredAt;
    const at = answering({ rotateNobody: refused("revoked"), getWithWrongKey: refused("no such key") });
    const settings = { ...never, refresh: { everyMs: null, silence: new Silence() } };
    expect(await sync(world, { settings, at })).toMatchObject({ outcome: "ok", requests: 2 });
    await world.time.sleep(HOUR - 1);
    expect(await sync(world, { settings, at })).toMatchObject({ outcome: "ok", requests: 0 });
    await world.time.sleep(1);
    expect(await sync(world, { settings, at })).toMatchObject({ outcome: "ok", requests: 2 });
    expect(world.ledger.service.answeredAt).toEqual(before);
  });
});

describe.each([
  "REFUSED",
  "KEY_REFUSED",
  "INTERMEDIARY_REFUSED",
  "SERVICE_ERROR",
  "BAD_RESPONSE",
  "TIMEOUT",
  "CONNECTION_LOST",
  "OVERLOADED",
  "THROTTLED",
] as const)("a group that alone is answered %s", (code) => {
  const poison = answering({ getOrCreate: new ServiceFailure(code, code, { retryAfterMs: 1_000 }) }, "a");

  test("is charged once the POST is refused, and the service lives", async () => {
    const world = await aSilentWorld("a", "b");
    const settings = { refresh: { everyMs: null, silence: new Silence() } };
    const began = world.time.now();
    expect(await sync(world, { settings, at: poison })).toMatchObject({
      outcome: "partial",
      error: undefined,
      counts: { failed: 1 },
    });
    expect(world.time.now().getTime() - began.getTime()).toBeLessThan(3 * MINUTE);
    expect(world.ledger.service.answeredAt?.getTime()).toBeGreaterThanOrEqual(began.getTime());
    await world.time.sleep(HOUR);
    expect((await sync(world, { settings, at: poison })).error).toBeUndefined();
    expect(sent(world)).toContain("GET b");
  });

  test("proves nothing if the POST may be refused because of the key", async () => {
    const world = await aSilentWorld("a", "b");
    const before = world.ledger.service.answeredAt;
    const at = (point: Point): void => {
      poison(point);
      answering({ rotateNobody: refused("revoked"), getWithWrongKey: refused("no such key") })(point);
    };
    const { outcome, counts } = await sync(world, { at });
    expect([outcome, counts.failed]).toEqual(["partial", 1]);
    if (code !== "REFUSED") expect(world.ledger.service.answeredAt).toEqual(before);
  });
});

describe("a daemon that serves single tenants", () => {
  test("asks once an hour between two full syncs, for another group each time", async () => {
    const world = await aSilentWorld("a", "b");
    const session = aSession(world);
    await session.run;
    await world.time.sleep(MINUTE);
    expect(sent(world)).toEqual(["GET a"]);
    await world.time.sleep(58 * MINUTE);
    expect(sent(world)).toEqual([]);
    await world.time.sleep(2 * MINUTE);
    expect(sent(world)).toEqual(["GET b"]);
  });

  test("passes over a group whose row is rejected by now", async () => {
    const world = await aSilentWorld("a");
    const session = aSession(world);
    world.tenants[0] = { id: "a", name: null };
    await session.run;
    await world.time.sleep(MINUTE);
    expect(sent(world)).toEqual(["POST"]);
  });

  test("counts the drift that it finds in the record of the last full sync", async () => {
    const world = await aSilentWorld("a", "b");
    const session = aSession(world);
    await session.run;
    world.service.groups.delete("a");
    await world.time.sleep(MINUTE);
    await session.end();
    expect(world.ledger.runs[0]?.result?.counts.drift).toEqual({ token: 0, gone: 1, name: 0 });
    expect(world.store.tokens).toEqual(world.service.tokens);
  });

  test("ends its session once all three fail", async () => {
    const world = await aSilentWorld("a", "b");
    const session = aSession(world, { at: failing("KEY_REFUSED") });
    await session.run;
    await world.time.sleep(4 * MINUTE);
    await expect(session.end()).rejects.toMatchObject({ code: "KEY_REFUSED" });
  });
});
