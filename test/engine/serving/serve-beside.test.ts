import { describe, expect, it, vi } from "vitest";
import { ServiceFailure } from "../../../src/core/failure/service-failure.ts";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import { Keys } from "../../../src/engine/lease/keys.ts";
import type { SyncSettings } from "../../../src/engine/sync.ts";
import { aSyncedWorld, tenants, World } from "../../fakes/world.ts";
import { aSession, asked, slow, stored } from "./a-session.ts";

it("a new tenant takes the next free call, and doesn't wait for calls that were asked for before", async () => {
  const world = new World(tenants(...Array.from({ length: 60 }, (_, n) => `t${n}`)));
  const rateLimit = { count: 1, perMs: 1_000 };
  const session = aSession(world, { settings: { concurrency: 8, rateLimit } });
  await world.time.sleep(20_500);
  world.tenants.push(...tenants("new"));
  const before = asked(world).length;
  await session.serve("new");
  expect(asked(world).slice(before)).toEqual(["new"]);
});

describe("older never overwrites newer:", () => {
  const name = (world: World, id: string): string | undefined => world.service.groups.get(id)?.group.name;
  const rename = (world: World, id: string, to: string): void => {
    const index = world.tenants.findIndex((tenant) => tenant.id === id);
    world.tenants[index] = { ...world.tenants[index], id, name: to };
  };

  /** A full sync that has planned the same change for all tenants, and has just begun to make them. */
  async function inTheMiddle(change: (world: World) => void, settings: Partial<SyncSettings> = {}) {
    const ids = Array.from({ length: 40 }, (_, n) => `t${String(n).padStart(2, "0")}`);
    const world = new World(tenants(...ids));
    world.service.existing = "update";
    await world.sync();
    for (const id of ids) rename(world, id, `${id} as planned`);
    change(world);
    slow(world, 1_000);
    const session = aSession(world, { settings: { ...settings, concurrency: 1 } });
    while (world.service.requests.length < 43) await world.time.sleep(500);
    return { world, session };
  }

  it("a planned update is dropped once a newer row was seen", async () => {
    const { world, session } = await inTheMiddle(() => {});
    rename(world, "t30", "newer");
    expect(await session.serve("t30")).toEqual({ kind: "done", outcome: "updated" });
    await session.run;
    expect(name(world, "t30")).toBe("newer");
    expect(asked(world).filter((id) => id === "t30")).toHaveLength(2);
    await session.end();
    expect((await world.sync()).requests).toBe(0);
  });

  it("a planned update is dropped if the row has become what it was", async () => {
    const { world, session } = await inTheMiddle(() => {});
    rename(world, "t30", "Name of t30");
    expect(await session.serve("t30")).toEqual({ kind: "done", outcome: "unchanged" });
    await session.run;
    expect(name(world, "t30")).toBe("Name of t30");
    expect(asked(world).filter((id) => id === "t30")).toHaveLength(1);
    await session.end();
    expect(world.ledger.rows.get("t30")).toMatchObject({ intent: null });
    expect((await world.sync()).requests).toBe(0);
  });

  it("a planned replacement is made although somebody has looked at its tenant", async () => {
    const { world, session } = await inTheMiddle(() => {}, { update: "replace", deletion: DELETES_AT_ONCE });
    expect(await session.serve("t30")).toMatchObject({ kind: "conflict", outcome: "held" });
    expect(await session.run).toMatchObject({ outcome: "ok", counts: { replaced: 40 } });
    expect(name(world, "t30")).toBe("t30 as planned");
  });

  it("a planned replacement waits while a lookup asks for the lost token, and has its intent then", async () => {
    const { world, session } = await inTheMiddle(() => {}, { update: "replace", deletion: DELETES_AT_ONCE });
    const intents: unknown[] = [];
    world.network = async ({ operation, id }) => {
      if (operation === "DELETE" && id === "t30") intents.push(world.ledger.rows.get(id)?.intent);
      await world.time.sleep(1_000);
    };
    world.store.tokens.delete("t30");
    expect(await session.serve("t30")).toMatchObject({ kind: "conflict", code: "NEEDS_FULL_SYNC" });
    expect(stored(world)).toContain("t30");
    expect(await session.run).toMatchObject({ outcome: "ok", counts: { replaced: 40 } });
    expect(intents).toEqual(["replace"]);
    await session.end();
  });

  it("a planned replacement is dropped once its row is another one", async () => {
    const { world, session } = await inTheMiddle(() => {}, { update: "replace", deletion: DELETES_AT_ONCE });
    rename(world, "t30", "Name of t30");
    await session.serve("t30");
    expect(await session.run).toMatchObject({ counts: { replaced: 39 } });
    expect(name(world, "t30")).toBe("Name of t30");
    // The lookup has told already that the group is as its row wants it.
    expect((await session.end()).errors).toEqual([]);
    expect(world.ledger.rows.get("t30")).toMatchObject({ intent: null });
  });

  /** A full sync that has planned to delete the groups of all tenants but one, and has just begun with it. */
  async function deletingAllBut(id: string, settings: Partial<SyncSettings> = {}) {
    const world = await aSyncedWorld(["a", "b", "c", "d", id]);
    world.tenants = tenants(id);
    slow(world, 1_000);
    const session = aSession(world, {
      settings: { concurrency: 1, deletion: DELETES_AT_ONCE, ...settings },
    });
    while (world.service.requests.length < 2) await world.time.sleep(500);
    return { world, session };
  }

  it("a planned deletion is made although somebody has asked for its tenant, who is still gone", async () => {
    const { world, session } = await deletingAllBut("stays");
    expect(await session.serve("d")).toEqual({ kind: "unknown" });
    expect(await session.run).toMatchObject({ outcome: "ok", counts: { deleted: 4 } });
    expect([...world.service.groups.keys()]).toEqual(["stays"]);
  });

  it("a planned deletion is dropped once its tenant was seen, even if the row is gone again", async () => {
    const { world, session } = await deletingAllBut("stays");
    world.tenants.push(...tenants("d"));
    await session.serve("d");
    world.tenants = tenants("stays");
    expect(await session.run).toMatchObject({ counts: { deleted: 3 } });
    expect([...world.service.groups.keys()].sort()).toEqual(["d", "stays"]);
  });

  it("a refresh asks for a group although somebody has looked at its tenant meanwhile", async () => {
    const world = await aSyncedWorld(["a", "b", "c"]);
    for (const [id, held] of world.service.groups) held.token = world.service.newToken(id);
    for (const [id, row] of world.ledger.rows) world.ledger.rows.set(id, { ...row, doubt: "operator" });
    slow(world, 1_000);
    const session = aSession(world, { settings: { concurrency: 1 } });
    while (world.service.requests.length < 1) await world.time.sleep(100);
    await session.serve("c");
    expect(await session.run).toMatchObject({ outcome: "ok", counts: { refreshed: 3 } });
    expect(world.store.tokens).toEqual(world.service.tokens);
  });

  it("a refresh that waits for the service's limit asks for a group although its tenant was looked at", async () => {
    const world = await aSyncedWorld(["a", "b"]);
    for (const [id, row] of world.ledger.rows) world.ledger.rows.set(id, { ...row, doubt: "operator" });
    const session = aSession(world, { settings: { rateLimit: { count: 1, perMs: 60_000 } } });
    await world.time.sleep(30_000);
    expect(await session.serve("b")).toEqual({ kind: "done", outcome: "unchanged" });
    expect(await session.run).toMatchObject({ outcome: "ok", counts: { refreshed: 2 } });
  });

  it("a planned update that waits for the service's limit is dropped once a newer row was seen", async () => {
    const world = new World(tenants("a", "b"));
    world.service.existing = "update";
    await world.sync();
    for (const id of ["a", "b"]) rename(world, id, "as planned");
    const session = aSession(world, { settings: { rateLimit: { count: 1, perMs: 60_000 } } });
    // The call for b is the next one, and no other one may start for a minute.
    await world.time.sleep(30_000);
    rename(world, "b", "newer");
    await session.serve("b");
    await session.run;
    expect(world.sent).toEqual(["GET a", "GET b", "GET a", "GET b"]);
    expect(name(world, "b")).toBe("newer");
  });

  it("a tenant that was looked up right before the source was read is looked up once more", async () => {
    const world = slow(new World(tenants("a", "b")), 1_000);
    world.service.existing = "update";
    let lookups = 0;
    const session = aSession(world, {
      at: ({ call }) => {
        // The lookup has the row already.
        if (call === "rowsOf" && ++lookups === 1) rename(world, "b", "newer");
      },
    });
    session.server.notice("b");
    await session.run;
    await world.time.sleep(10_000);
    expect(name(world, "b")).toBe("newer");
    expect(asked(world).filter((id) => id === "b")).toHaveLength(2);
    await session.end();
    expect((await world.sync()).requests).toBe(0);
  });

  it("a lost token is restored by a sync that verifies all tokens, even if a lookup of its tenant has failed", async () => {
    const world = await aSyncedWorld(["a", "b"]);
    world.store.tokens.delete("a");
    world.ledger.tokens = { ...world.ledger.tokens, complete: null };
    const session = aSession(world, {
      at: async ({ call }) => {
        if (call !== "rowsOf") return;
        await world.time.sleep(1_000);
        throw new SyncError("SOURCE_UNAVAILABLE", "no route");
      },
    });
    session.server.notice("a");
    expect(await session.run).toMatchObject({ counts: { restored: 1 } });
    expect(stored(world)).toEqual(["a", "b"]);
  });

  it("a tenant whose lost token is restored is done only once its group is updated too", async () => {
    const world = new World(tenants("a"));
    world.service.existing = "update";
    const session = aSession(world);
    await session.run;
    world.store.tokens.delete("a");
    rename(world, "a", "newer");
    expect(await session.serve("a")).toEqual({ kind: "done", outcome: "updated" });
    expect([name(world, "a"), stored(world)]).toEqual(["newer", ["a"]]);
  });

  it("a tenant that is back since the plan is not deleted", async () => {
    const { world, session } = await inTheMiddle((world) => {
      world.tenants = world.tenants.filter(({ id }) => id !== "t30");
    });
    world.tenants.push({ id: "t30", name: "back" });
    expect(await session.run).toMatchObject({ counts: { deleted: 0 } });
    expect(world.service.groups.has("t30")).toBe(true);
    expect(stored(world)).toContain("t30");
    await session.end();
    expect((await world.sync()).outcome).toBe("ok");
    expect(name(world, "t30")).toBe("back");
  });

  it("two calls for one tenant are never under way at the same time", async () => {
    const { world, session } = await inTheMiddle(() => {});
    const underWay = new Set<string>();
    world.network = async ({ id }) => {
      expect(underWay.has(id)).toBe(false);
      underWay.add(id);
      await world.time.sleep(1_000);
      underWay.delete(id);
    };
    for (let n = 3; n < 40; n++) session.server.notice(`t${String(n).padStart(2, "0")}`);
    await session.run;
    await session.end();
    expect((await world.sync()).requests).toBe(0);
  });

  it("a token that a lookup has found, while older ones were rotated, is not too old", async () => {
    const world = await aSyncedWorld(["a", "b"]);
    await world.time.sleep(3_600_000);
    const session = aSession(world, {
      settings: { rotation: { maxAgeMs: 60_000, window: null, maxPerRun: null, concurrency: 1 } },
      at: async ({ when, call, id }) => {
        if (when !== "before" || call !== "rotate" || id !== "a") return;
        Object.assign(world.service.groups.get("b") ?? {}, { token: world.service.newToken("b") });
        world.store.tokens.delete("b");
        session.server.notice("b");
        await world.time.sleep(1_000);
      },
    });
    await session.run;
    expect(world.sent).toEqual(["GET b", "POST a"]);
    expect(world.store.tokens).toEqual(world.service.tokens);
  });

  it("nobody else works on a group whose update has failed until the rotation of an earlier run is settled", async () => {
    const world = await aSyncedWorld(["a"]);
    let isUnderWay = false;
    let gets = 0;
    const session = aSession(world, {
      at: ({ when, call }) => {
        if (when === "before" && call === "getOrCreate" && ++gets === 1)
          throw new ServiceFailure("REFUSED", "HTTP 422");
      },
    });
    await session.run;
    Object.assign(world.ledger.rows.get("a") ?? {}, { intent: "rotate" });
    rename(world, "a", "renamed");
    world.network = async () => {
      expect(isUnderWay).toBe(false);
      isUnderWay = true;
      await world.time.sleep(1_000);
      isUnderWay = false;
    };
    expect(await session.serve("a")).toMatchObject({ kind: "failed" });
    await session.serve("a");
    expect(world.service.requests.length).toBeGreaterThan(1);
  });
});

describe("a group that fails", () => {
  const failing = (id: string) => ({
    at: ({ when, call, id: of }: { when: string; call: string; id?: string | undefined }): void => {
      if (when === "before" && call === "getOrCreate" && of === id)
        throw new ServiceFailure("SERVICE_ERROR", "HTTP 500");
    },
  });

  it("counts as failed in the full sync, even if somebody else was serving it meanwhile", async () => {
    const world = new World(tenants("a", "bad"));
    const { at } = failing("bad");
    await world.sync({ at });
    slow(world, 1_000);
    const session = aSession(world, { at });
    session.server.notice("bad");
    expect(await session.run).toMatchObject({ outcome: "partial", counts: { failed: 1 } });
  });

  it("counts as failed in a full sync that has nothing to do itself", async () => {
    const world = await aSyncedWorld(["a"]);
    const { at } = failing("bad");
    const session = aSession(world, {
      at: async (point) => {
        at(point);
        if (point.call !== "sourceBuckets") return;
        world.tenants.push(...tenants("bad"));
        await session.serve("bad");
      },
    });
    expect(await session.run).toMatchObject({ outcome: "partial", counts: { failed: 1 }, requests: 0 });
  });

  /** A full sync in whose middle the last of these tenants is noticed, while the source is away for lookups. */
  async function noticedWhileSourceIsAway(ids: readonly string[]) {
    const world = slow(new World(tenants(...ids)), 1_000);
    let isAway = true;
    const session = aSession(world, {
      settings: { concurrency: 1 },
      at: ({ call }) => {
        if (call === "rowsOf" && isAway) throw new SyncError("SOURCE_UNAVAILABLE", "away");
      },
    });
    await world.time.sleep(1_500);
    session.server.notice(ids.at(-1) ?? "");
    const comesBack = (): void => {
      isAway = false;
    };
    return { world, session, comesBack };
  }

  it("counts as failed in the full sync, too, if the lookup of its row has failed", async () => {
    const ids = ["a", "b", "c", "d"];
    const { world, session, comesBack } = await noticedWhileSourceIsAway(ids);
    expect(await session.run).toMatchObject({ outcome: "partial", counts: { created: 3, failed: 1 } });
    comesBack();
    await world.time.sleep(10_000);
    expect(stored(world)).toEqual(ids);
  });

  it("counts as served in the full sync if the next lookup of its row finds it", async () => {
    const ids = [..."abcdefghijklmnop"];
    const { world, session, comesBack } = await noticedWhileSourceIsAway(ids);
    await world.time.sleep(1_000);
    comesBack();
    expect(await session.run).toMatchObject({ outcome: "ok", counts: { created: 15, failed: 0 } });
    expect(stored(world)).toEqual(ids);
  });

  it("is told to who asked for it, and tried again without being asked", async () => {
    const world = new World(tenants("a"));
    let isBad = true;
    const { at } = failing("bad");
    const session = aSession(world, { at: (point) => (isBad ? at(point) : undefined) });
    await session.run;
    world.tenants.push(...tenants("bad"));
    expect(await session.serve("bad")).toMatchObject({ kind: "failed", code: "SERVICE_ERROR" });
    isBad = false;
    await world.time.sleep(60_000);
    expect(stored(world)).toEqual(["a", "bad"]);
  });
});

describe("a tenant", () => {
  it("counts as served once, because it may be looked up again before the others of its batch are served", async () => {
    const served = vi.spyOn(Keys.prototype, "served");
    const world = new World(tenants("a", "b"));
    const session = aSession(world);
    await session.run;
    await Promise.all([session.serve("a"), session.serve("b")]);
    await session.end();
    const ids = served.mock.calls.map(([id]) => id);
    served.mockRestore();
    expect(ids.sort()).toEqual(["a", "b"]);
  });

  it("that the source doesn't have costs no call", async () => {
    const world = new World(tenants("a"));
    const session = aSession(world);
    await session.run;
    expect(await session.serve("never there")).toEqual({ kind: "unknown" });
    await session.end();
    expect(asked(world)).toEqual(["a"]);
  });

  it.each([
    ["is rejected", { name: null }, { outcome: "rejected", code: "VALUE_NULL" }],
    ["isn't ready", { name: "renamed", ready: false }, { outcome: "not_ready", code: "NOT_READY" }],
  ])("whose row %s is a conflict, and its group stays as it is", async (_, row, served) => {
    const world = new World(tenants("a"));
    const session = aSession(world);
    await session.run;
    world.tenants[0] = { id: "a", ...row };
    expect(await session.serve("a")).toMatchObject({ kind: "conflict", ...served });
    expect(asked(world)).toEqual(["a"]);
  });

  it("that has changed is not said to be done because a rotation of an earlier run is settled", async () => {
    const world = new World(tenants("a"));
    const session = aSession(world, { settings: { update: "replace", deletion: DELETES_AT_ONCE } });
    await session.run;
    const rotated = world.service.newToken("a");
    Object.assign(world.service.groups.get("a") ?? {}, { token: rotated });
    Object.assign(world.ledger.rows.get("a") ?? {}, { intent: "rotate" });
    world.tenants[0] = { id: "a", name: "renamed" };
    expect(await session.serve("a")).toMatchObject({ kind: "conflict", code: "NEEDS_FULL_SYNC" });
    expect(world.store.tokens.get("a")).toBe(rotated);
  });

  it("that was made before the first read was recorded is not deleted because of another source", async () => {
    const world = new World(tenants("a"));
    const session = aSession(world, {
      settings: { source: "the first source" },
      at: ({ call }) => {
        if (call === "rows") throw new SyncError("SOURCE_UNAVAILABLE", "away");
      },
    });
    session.server.notice("a");
    expect(await session.run).toMatchObject({ outcome: "failed" });
    expect(stored(world)).toEqual(["a"]);
    world.tenants.splice(0, 1, ...tenants("b"));
    await world.sync({ settings: { source: "another source", deletion: DELETES_AT_ONCE } });
    expect(world.ledger.rows.get("a")).toMatchObject({ absence: { kind: "unseen" } });
  });

  it("whose row changes before the full sync reads it counts as failed if only the next one may replace its group", async () => {
    const world = new World(tenants("a", "b"));
    const session = aSession(world, {
      settings: { update: "replace", deletion: DELETES_AT_ONCE },
      at: async ({ when, call }) => {
        if (when !== "before" || call !== "openSource") return;
        await world.time.sleep(100);
        world.tenants[0] = { id: "a", name: "renamed" };
      },
    });
    slow(world, 1_000);
    session.server.notice("a");
    expect(await session.run).toMatchObject({ outcome: "partial", counts: { failed: 1 } });
    await session.end();
    expect(await world.sync({ settings: { update: "replace", deletion: DELETES_AT_ONCE } })).toMatchObject({
      outcome: "ok",
      counts: { replaced: 1 },
    });
  });

  it("that a new source never had is not deleted, even if it was noticed while that source was read first", async () => {
    const world = await aSyncedWorld(["a", "b"]);
    world.tenants.splice(1);
    const settings = { source: "another source", deletion: DELETES_AT_ONCE };
    // The lookup goes on while the source is being read.
    const session = aSession(world, {
      settings,
      at: ({ call }) => (call === "rowsOf" ? world.time.sleep(1) : undefined),
    });
    session.server.notice("b");
    await session.run;
    await session.end();
    expect(world.ledger.rows.get("b")).toMatchObject({ absence: { kind: "unseen" } });
  });

  it("that was there when the source was read has no absence, even if it was noticed and is gone again", async () => {
    const settings = { deletion: { ...DELETES_AT_ONCE, gracePeriodMs: 3_600_000 } };
    const world = new World(tenants("a", "b"));
    await world.sync({ settings });
    world.tenants.splice(1);
    await world.sync({ settings });
    expect(world.ledger.rows.get("b")).toMatchObject({ absence: { kind: "absent" } });
    let lookups = 0;
    const session = aSession(world, {
      settings,
      at: async ({ call }) => {
        // The lookup has found no row, and goes on while the source is being read.
        if (call === "rowsOf" && ++lookups === 1) {
          world.tenants.push(...tenants("b"));
          await world.time.sleep(1);
        }
        // The source is read.
        if (call === "openSource") world.tenants.splice(1);
      },
    });
    session.server.notice("b");
    await session.run;
    await session.end();
    expect(world.ledger.rows.get("b")).toMatchObject({ absence: null });
  });
});

const DELETES_AT_ONCE = {
  when: "absent",
  gracePeriodMs: 0,
  limit: { count: 1_000, percent: 100 },
} as const;

it("a new tenant doesn't wait for another one's lost token, which was noticed with it", async () => {
  const world = await aSyncedWorld(["lost"]);
  const session = aSession(world);
  await session.run;
  world.store.tokens.delete("lost");
  world.network = ({ id }) => world.time.sleep(id === "lost" ? 60_000 : 100);
  world.tenants.push(...tenants("new"));
  session.server.notice("lost");
  session.server.notice("new");
  await world.time.sleep(1_000);
  expect(stored(world)).toEqual(["new"]);
  await world.time.sleep(60_000);
  expect(stored(world)).toEqual(["lost", "new"]);
});

it("more tenants than can wait lead to a full sync", async () => {
  const world = new World(tenants("a"));
  const session = aSession(world);
  await session.run;
  await session.end();
  for (let n = 0; n < 10_000; n++) session.server.notice(`t${n}`);
  expect(session.overflows()).toBe(0);
  session.server.notice("one more");
  expect(session.overflows()).toBe(1);
  session.server.notice("t5");
  expect(session.overflows()).toBe(1);
  expect(await session.serve("asked for")).toEqual({ kind: "pending" });
  expect(session.overflows()).toBe(1);
  const { signal } = new AbortController();
  const asked = Array.from({ length: 10_000 }, (_, n) => session.server.serve(`asked ${n}`, 0, signal));
  expect((await Promise.all(asked)).at(-1)).toMatchObject({ kind: "failed", code: "TOO_MANY_TENANTS" });
  expect(session.overflows()).toBe(2);
});

it("a source that is away is asked again, and who asked hears of it at once", async () => {
  const world = new World(tenants("a"));
  let isAway = false;
  const session = aSession(world, {
    at: ({ call }) => {
      if (isAway && call === "rowsOf") throw new SyncError("SOURCE_UNAVAILABLE", "no route");
    },
  });
  await session.run;
  world.tenants.push(...tenants("b"));
  isAway = true;
  expect(await session.serve("b")).toMatchObject({ kind: "failed", code: "SOURCE_UNAVAILABLE" });
  isAway = false;
  await world.time.sleep(60_000);
  expect(stored(world)).toEqual(["a", "b"]);
});
