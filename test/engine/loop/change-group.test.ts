import { describe, expect, it } from "vitest";
import { doesUpdate } from "../../../src/core/apply/update-evidence.ts";
import { ServiceFailure } from "../../../src/core/failure/service-failure.ts";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import { UNKNOWN_STATE } from "../../../src/core/group/ledger-group.ts";
import type { SyncSettings } from "../../../src/engine/sync.ts";
import { aGroup } from "../../builders/groups.ts";
import { column } from "../../builders/rules.ts";
import type { Point } from "../../fakes/instance.ts";
import { aSyncedWorld, syncSettings, tenants, World } from "../../fakes/world.ts";

it.each(["name", "plan"])(
  "a creation that an earlier run did not confirm is not taken for one with another %s",
  async (field) => {
    const another = { ...tenants("a")[0], [field]: "another" };
    for (let diesAt = 0, end: unknown = "died"; end === "died"; diesAt++) {
      const world = await aSyncedWorld(["z"]);
      // A probe shows that the service keeps existing groups as they are.
      await world.startProbe().report;
      world.tenants = [...tenants("a"), ...world.tenants];
      end = await world.start({ diesAt }).report;

      world.tenants = world.tenants.map((tenant) => (tenant.id === "a" ? another : tenant));
      for (let times = 0; times < 2; times++) await world.sync({ settings: { update: "replace" } });
      const { name, properties } = world.service.groups.get("a")?.group ?? {};
      const wanted = { name: another.name, properties: { plan: another.plan } };
      expect({ diesAt, name, properties }).toEqual({ diesAt, ...wanted });
      expect(world.store.tokens).toEqual(world.service.tokens);
    }
  },
);

it("a group that was gone and is created under another name doesn't show that the service updates groups", async () => {
  for (let diesAt = 0, end: unknown = "died"; end === "died"; diesAt++) {
    const world = await aSyncedWorld(["a"]);
    // Another program deletes the group.
    world.service.groups.delete("a");
    world.tenants = [{ ...tenants("a")[0], name: "another" }];
    end = await world.start({ diesAt }).report;
    expect(await world.sync()).toMatchObject({ outcome: "ok" });
    expect({ diesAt, updates: doesUpdate(world.ledger.service.evidence) }).toEqual({ diesAt, updates: null });
  }
});

it("a group that may have existed before a crash is not taken for one with the right mapping", async () => {
  const old = { user_group_id: "a", name: "Name of a", mapping: { "40": "another" }, properties: {} };
  for (let diesAt = 0, end: unknown = "died"; end === "died"; diesAt++) {
    const world = new World(tenants("a"));
    world.service.put(old);
    end = await world.start({ diesAt }).report;
    const { counts } = await world.sync();
    expect(counts.unverified + counts.unchanged).toBe(1);
    expect(world.ledger.rows.get("a")?.unverified).toBe("adopted");
  }
});

it("another name with another token in a ledger that went back in time doesn't show that the service took the mapping", async () => {
  const world = await aSyncedWorld(["a"]);
  const putBack = world.ledger.copy();
  // The service keeps existing groups, so this replaces the group. The ledger forgets that.
  world.tenants = [{ id: "a", name: "another", plan: "silver" }];
  await world.sync({ settings: { update: "replace" } });
  putBack();
  world.ledger.server = "a replica";
  world.tenants = [{ id: "a", name: "another", plan: "gold" }];
  await world.sync();
  expect(world.service.groups.get("a")?.group).toMatchObject({ properties: { plan: "silver" } });
  expect(world.ledger.rows.get("a")?.unverified).not.toBeNull();
});

describe("a group that was gone, and was made again with another mapping by a GET whose answer was lost", () => {
  const row = (plan: string | null, more = {}) => [{ id: "a", name: "Name of a", plan, ...more }];
  const lost = ({ when, call }: Point): void => {
    if (when === "after" && call === "getOrCreate") throw new ServiceFailure("SERVICE_ERROR", "HTTP 500");
  };

  it.each<[string, (world: World) => Promise<unknown>]>([
    ["the row is as before", async () => {}],
    ["another sync asks for the same", (world) => world.sync()],
    [
      "the row asks for something else",
      (world) => {
        world.tenants = row("bronze");
        return world.sync();
      },
    ],
    [
      "the row is rejected",
      (world) => {
        world.tenants = row("silver", { name: null });
        return world.sync();
      },
    ],
  ])("is not taken for the former one if %s", async (_, meanwhile) => {
    const world = await aSyncedWorld(["a"]);
    // A probe has found out that the service keeps existing groups.
    await world.startProbe().report;
    world.service.groups.delete("a");
    world.tenants = row("silver");
    await world.sync({ at: lost });
    expect(world.service.groups.get("a")?.group.properties).toEqual({ plan: "silver" });
    await meanwhile(world);
    world.tenants = tenants("a");
    await world.time.sleep(7 * 86_400_000);
    expect(await world.sync()).toMatchObject({ outcome: "partial", errors: [{ code: "NOT_UPDATED" }] });
    await world.sync({ settings: { update: "replace" } });
    expect(world.service.groups.get("a")?.group.properties).toEqual({ plan: tenants("a")[0]?.plan });
  });
});

describe("a group that somebody else has renamed", () => {
  const DAY = 86_400_000;
  const namedAs = (name: string) => [{ id: "a", name, plan: "gold" }];

  const rename = (world: World, name: string): void => {
    const held = world.service.groups.get("a");
    if (held) held.group = { ...held.group, name };
  };

  const GETS: Record<string, (world: World) => Promise<unknown>> = {
    "that settles a rotation": (world) => {
      const row = world.ledger.rows.get("a");
      if (row) world.ledger.rows.set("a", { ...row, intent: "rotate" });
      return world.sync();
    },
    "for a lost token": (world) => {
      world.store.tokens.clear();
      return world.sync({ verifyTokens: true });
    },
    "for an update that is taken back": async (world) => {
      world.tenants = namedAs("New");
      await world.sync();
      world.tenants = namedAs("Name of a");
    },
  };

  it.each(Object.keys(GETS))("is not forgotten after a GET %s", async (which) => {
    const world = await aSyncedWorld(["a"]);
    rename(world, "the wrong name");
    await GETS[which]?.(world);
    for (let times = 0; times < 2; times++) {
      await world.time.sleep(DAY);
      const { errors, requests } = await world.sync();
      expect({ errors, requests }).toMatchObject({ errors: [{ code: "NOT_UPDATED" }], requests: 1 });
    }
    rename(world, "Name of a");
    await world.time.sleep(DAY);
    expect(await world.sync()).toMatchObject({ outcome: "ok", requests: 1 });
    expect(await world.sync()).toMatchObject({ outcome: "ok", requests: 0 });
  });
});

/** What services make of names, and names that show it. */
const REWRITINGS: Record<string, { rewrites: (name: string) => string; odd: string; odder: string }> = {
  "cuts names": {
    rewrites: (name) => name.slice(0, 12),
    odd: "A name that is long",
    odder: "A name that is longer",
  },
  "makes Cyrillic letters small": { rewrites: (name) => name.toLowerCase(), odd: "ПРИВЕТ", odder: "Привет" },
  "escapes HTML": {
    rewrites: (name) => name.replaceAll("&", "&amp;").replaceAll("<", "&lt;"),
    odd: "<Acme>",
    odder: "Acme & <Sons>",
  },
};

/** "odd" has a name that the service rewrites; "a" and "b" have names that it leaves alone. */
async function aWorldWith(odd: string, rewrites?: (name: string) => string): Promise<World> {
  const world = new World([
    ...tenants("odd"),
    { id: "a", name: "a", plan: "gold" },
    { id: "b", name: "b", plan: "gold" },
  ]);
  world.service.existing = "update";
  if (rewrites) world.service.rewrites = rewrites;
  row(world, "odd", { name: odd });
  expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { created: 3 } });
  return world;
}

function row(world: World, id: string, fields: Readonly<Record<string, string>>): void {
  world.tenants = world.tenants.map((tenant) => (tenant.id === id ? { ...tenant, ...fields } : tenant));
}

const replan = (world: World, plan: string): void => {
  for (const { id } of world.tenants) row(world, String(id), { plan });
};

const HOUR = 3_600_000;

const syncLater = async (world: World) => {
  await world.time.sleep(HOUR);
  return world.sync();
};

describe.each(Object.keys(REWRITINGS))("a service that updates, and %s", (kind) => {
  const { rewrites, odd, odder } = REWRITINGS[kind] ?? { rewrites: String, odd: "", odder: "" };

  it("takes changes of the mapping, before and after it was seen to update", async () => {
    const world = await aWorldWith(odd, rewrites);
    replan(world, "silver");
    expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { updated: 3, unverified: 3 } });
    row(world, "a", { name: "renamed" });
    expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { updated: 1 } });
    expect(doesUpdate(world.ledger.service.evidence)).toBe(true);
    replan(world, "bronze");
    expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { updated: 3, unverified: 0 } });
  });

  it("is not taken for one that keeps groups", async () => {
    const world = await aWorldWith(odd, rewrites);
    for (const { id } of world.tenants) row(world, String(id), { name: odd });
    await world.sync();
    expect(doesUpdate(world.ledger.service.evidence)).toBe(true);
    for (const { id } of world.tenants) row(world, String(id), { name: odder });
    expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { updated: 3, failed: 0 } });
    expect(doesUpdate(world.ledger.service.evidence)).toBe(true);
  });
});

describe("a group in an unknown state", () => {
  const forget = (world: World): void => {
    const record = world.ledger.rows.get("odd");
    if (record) world.ledger.rows.set("odd", { ...record, fingerprint: UNKNOWN_STATE });
  };

  it.each(Object.values(REWRITINGS))(
    "is updated if its name $odd is rewritten",
    async ({ rewrites, odd }) => {
      const world = await aWorldWith(odd, rewrites);
      forget(world);
      expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { updated: 1, unverified: 1 } });
    },
  );

  it("is not updated if its former name begins the name sent", async () => {
    const world = await aWorldWith("Acme");
    world.service.existing = "keep";
    forget(world);
    row(world, "odd", { name: "Acme Corp" });
    expect(await world.sync()).toMatchObject({ errors: [{ user_group_id: "odd", code: "NOT_UPDATED" }] });
  });
});

describe("a group that the service keeps", () => {
  const rename = async (world: World, ...ids: string[]): Promise<void> => {
    for (const id of ids) row(world, id, { name: `new ${id}` });
    await syncLater(world);
  };

  it("fails alone if a probe has found out that the service updates", async () => {
    const world = await aWorldWith("odd");
    await world.startProbe().report;
    world.service.kept.add("odd");
    await rename(world, "odd");
    replan(world, "silver");
    expect(await syncLater(world)).toMatchObject({
      counts: { updated: 2, unverified: 0, failed: 1 },
      errors: [{ user_group_id: "odd", code: "NOT_UPDATED" }],
    });
  });

  it("leaves the others to be judged each by its own answer", async () => {
    const world = await aWorldWith("odd");
    world.service.kept.add("odd");
    await rename(world, "odd", "a");
    expect(doesUpdate(world.ledger.service.evidence)).toBeNull();
    replan(world, "silver");
    expect(await syncLater(world)).toMatchObject({ counts: { updated: 2, unverified: 2, failed: 1 } });
    world.service.kept.clear();
    await world.time.sleep(HOUR * 24);
    expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { updated: 1 } });
    expect(doesUpdate(world.ledger.service.evidence)).toBe(true);
  });
});

const IDS = ["a", "b", "c", "d"];

const keep = (world: World, ...ids: string[]): void => {
  world.tenants = tenants(...ids);
};

const groups = (world: World): string[] => [...world.service.groups.keys()].sort();

/** Fails this point, such as `before remove d`, the first `times` times. */
function failing(
  place: string,
  failure: SyncError,
  times = Number.POSITIVE_INFINITY,
): (point: Point) => void {
  let failed = 0;
  return ({ when, call, id }) => {
    if (`${when} ${call} ${id}` === place && failed++ < times) throw failure;
  };
}

/** Expects that service, token store and ledger have nothing of these groups. */
function expectGone(world: World, ...ids: string[]): void {
  for (const id of ids) {
    expect(groups(world)).not.toContain(id);
    expect([...world.store.tokens.keys()]).not.toContain(id);
    expect([...world.ledger.rows.keys()]).not.toContain(id);
  }
}

const REPLACING: Partial<SyncSettings> = { update: "replace" };

describe("a deletion", () => {
  it.each<["token" | "id" | "both"]>([["token"], ["id"], ["both"]])(
    "works with a service that deletes by %s if the group is gone, another program rotated the token, or the token is lost",
    async (deleteBy) => {
      const world = await aSyncedWorld(IDS);
      world.service.deleteBy = deleteBy;
      world.service.groups.delete("b");
      const rotated = world.service.groups.get("c");
      if (rotated) rotated.token = "another";
      world.store.tokens.delete("d");
      keep(world, "a");
      expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { deleted: 3 } });
      expectGone(world, "b", "c", "d");
    },
  );

  it("asks for the live token if a rotation is under way, because a service may answer that it deleted nothing", async () => {
    for (let diesAt = 0, end: unknown = "died"; end === "died"; diesAt++) {
      const world = await aSyncedWorld(IDS);
      const rotation = world.startRotation(
        { kind: "only", ids: new Set(["b"]) },
        {
          at: ({ when, call }) => {
            if (when === "after" && call === "rotate") rotation.instance.kill();
          },
        },
      );
      expect(await rotation.report).toBe("died");
      await world.cancelRotations();
      // The answer for a new tenant shows the team, without which no stored token is used.
      keep(world, "a", "c", "d", "new");
      world.service.deletesNothing = true;
      end = await world.start({ diesAt }).report;
      await world.sync();
      expect({ diesAt, groups: groups(world) }).toEqual({ diesAt, groups: ["a", "c", "d", "new"] });
    }
  });

  it("asks for the live token of a group in doubt, because the ledger may have forgotten a rotation", async () => {
    const world = await aSyncedWorld(IDS);
    for (const id of ["a", "b"]) world.service.groups.get(id)!.token = world.service.newToken(id);
    for (const [id, row] of world.ledger.rows) world.ledger.rows.set(id, { ...row, doubt: "rewind" });
    keep(world, "a", "c", "d", "new");
    world.service.deletesNothing = true;
    await world.sync();
    expect(groups(world)).toEqual(["a", "c", "d", "new"]);
  });

  it("uses the live token if the service answers 403 to the stored one", async () => {
    const world = await aSyncedWorld(IDS);
    keep(world, "a");
    const refusal = new ServiceFailure("KEY_REFUSED", "DELETE was answered HTTP 403");
    const at = failing("before remove c", refusal, 1);
    const report = await world.sync({ at, settings: { concurrency: 1 } });
    expect(report).toMatchObject({ outcome: "ok", counts: { deleted: 3 } });
  });

  it("never happens in another team, which may have a group with the same id", async () => {
    const world = await aSyncedWorld(IDS);
    keep(world, "a");
    world.service.deleteBy = "id";
    const ours = groups(world);
    world.service.teamId = 8;
    world.service.put(aGroup({ user_group_id: "b" }));
    const report = await world.sync();
    expect(report).toMatchObject({ outcome: "failed", error: { code: "TEAM_CHANGED" } });
    expect(groups(world)).toEqual(["b"]);
    world.service.teamId = 7;
    expect(groups(world)).toEqual(ours);
    expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { deleted: 3 } });
  });

  it("is left to the next sync of all tenants by --only, even if it is under way", async () => {
    const world = await aSyncedWorld(IDS);
    keep(world, "a", "b", "c");
    const only = new Set(["d"]);
    const left = {
      outcome: "ok",
      requests: 0,
      counts: { deleted: 0, missing: 1 },
      errors: [{ user_group_id: "d", code: "TENANT_GONE", message: expect.stringContaining("next sync") }],
    };
    expect(await world.sync({ only })).toMatchObject(left);
    expect(world.ledger.rows.get("d")?.absence).toBeNull();
    const at = ({ when, call }: Point): void => {
      if (when === "before" && call === "remove") throw new ServiceFailure("SERVICE_ERROR", "HTTP 500");
    };
    await world.sync({ at });
    expect(world.ledger.rows.get("d")?.intent).toBe("delete");
    // What failed is owed.
    const [goneError] = left.errors;
    const owed = { ...left, outcome: "partial", errors: [goneError, { code: "SERVICE_ERROR" }] };
    expect(await world.sync({ only })).toMatchObject(owed);
    expect(groups(world)).toEqual(IDS);
    expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { deleted: 1 } });
  });

  it("is not repeated if the store refuses to remove the token", async () => {
    const world = await aSyncedWorld(IDS);
    keep(world, "a", "b", "c");
    world.store.notRemovable.add("d");
    const partial = { outcome: "partial", counts: { failed: 1, deleted: 0 } };
    expect(await world.sync()).toMatchObject(partial);
    world.service.requests.length = 0;
    expect(await world.sync()).toMatchObject({ ...partial, errors: [{ code: "TOKEN_NOT_REMOVED" }] });
    world.store.notRemovable.clear();
    expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { deleted: 1 } });
    expect(world.sent).toEqual([]);
    expectGone(world, "d");
    expect(world.ledger.removals).toHaveLength(1);
  });

  it.each([
    { back: "as it was", row: tenants("d"), end: { outcome: "ok", counts: { replaced: 1 } } },
    {
      back: "under another name",
      row: tenants("d").map((tenant) => ({ ...tenant, name: "another" })),
      end: { outcome: "partial", errors: [{ code: "NOT_UPDATED" }] },
    },
  ])(
    "that was done counts against the limit, even if only the group's other token shows it: its tenant is back $back",
    async ({ row, end }) => {
      const world = await aSyncedWorld(IDS);
      // A new group shows the team, so that the DELETE comes first. It takes effect, and so does the GET that asks for the token then: it
      // creates the group again.
      keep(world, "a", "b", "c", "e");
      const lost = new ServiceFailure("TIMEOUT", "no answer");
      const at = ({ when, call, id }: Point): void => {
        if (when === "after" && id === "d" && (call === "remove" || call === "getOrCreate")) throw lost;
      };
      expect(await world.sync({ at })).toMatchObject({ outcome: "partial", counts: { failed: 1 } });
      expect(world.sent).toContain("DELETE d");
      world.tenants = [...tenants("a", "b", "c", "e"), ...row];
      expect(await world.sync()).toMatchObject(end);
      expect(world.ledger.removals).toHaveLength(1);
      world.tenants = [...tenants("b", "c", "e"), ...row];
      const settings = syncSettings({
        deletion: { ...syncSettings().deletion, limit: { count: 1, percent: 0 } },
      });
      expect(await world.sync({ settings })).toMatchObject({
        outcome: "held",
        counts: { held: 1, deleted: 0 },
      });
    },
  );

  it("is recorded even if the token store fails before the token is removed", async () => {
    const world = await aSyncedWorld(IDS);
    keep(world, "a");
    const away = new SyncError("TOKEN_STORE_UNAVAILABLE", "it is away");
    const at = ({ when, call }: Point): void => {
      if (when === "before" && call === "removeTokens") throw away;
    };
    expect(await world.sync({ at })).toMatchObject({ outcome: "failed", error: { code: away.code } });
    const deleted = IDS.length - groups(world).length;
    expect(deleted).toBeGreaterThan(1);
    world.service.requests.length = 0;
    expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { deleted: 3 } });
    expect(world.sent.filter((request) => request.startsWith("GET"))).toEqual([]);
    expectGone(world, "b", "c", "d");
  });
});

it.each<["delete" | "replace"]>([["delete"], ["replace"]])(
  "a stored token of another group is never sent to %s, because the service may look at the token alone",
  async (action) => {
    const world = new World(tenants("a", "b", "c"));
    world.service.deleteBy = "token";
    await world.sync({ settings: REPLACING });
    const other = world.service.tokens.get("c");
    // For example, a row was copied with all its columns, or restored from a backup.
    for (const id of ["a", "b"]) world.store.tokens.set(id, other ?? "");

    world.tenants =
      action === "delete"
        ? tenants("c")
        : world.tenants.map((tenant) => (tenant.id === "c" ? tenant : { ...tenant, name: "New name" }));
    expect(await world.sync({ settings: REPLACING })).toMatchObject({ outcome: "ok" });
    expect([...world.service.groups.keys()].sort()).toEqual(action === "delete" ? ["c"] : ["a", "b", "c"]);
    expect(world.service.tokens.get("c")).toBe(other);
    expect(world.store.tokens).toEqual(world.service.tokens);
  },
);

it.each(["delete", "replace"])(
  "no group of another program is lost to a %s by a copy of its token",
  async (action) => {
    const world = await aSyncedWorld(["a", "b", "c"], REPLACING);
    world.service.deleteBy = "token";
    world.service.put(aGroup({ user_group_id: "theirs" }));
    for (const id of ["a", "b"]) world.store.tokens.set(id, world.service.tokens.get("theirs") ?? "");
    if (action === "delete") keep(world, "c");
    else rename(world, "a", "b");
    expect(await world.sync({ settings: { ...REPLACING, concurrency: 1 } })).toMatchObject({ outcome: "ok" });
    expect(world.service.groups.has("theirs")).toBe(true);
  },
);

const rename = (world: World, ...ids: string[]): void => {
  world.tenants = world.tenants.map((tenant) =>
    ids.includes(String(tenant.id)) ? { ...tenant, name: `New name of ${tenant.id}` } : tenant,
  );
};

describe("a replacement", () => {
  const settings = { update: "replace" } as const;

  it.each<["token" | "id" | "both"]>([["token"], ["id"], ["both"]])(
    "gives the new state to a service that deletes by %s, and the new token to the application",
    async (deleteBy) => {
      const world = await aSyncedWorld(IDS, settings);
      world.service.deleteBy = deleteBy;
      rename(world, "a", "b", "c", "d");
      const before = world.service.tokens;
      world.service.groups.delete("b");
      const rotated = world.service.groups.get("c");
      if (rotated) rotated.token = "another";
      world.store.tokens.delete("d");
      const report = await world.sync({ settings });
      expect(report).toMatchObject({ outcome: "ok", counts: { replaced: 4, updated: 0, unverified: 0 } });
      for (const [id, { group, token }] of world.service.groups) {
        expect(group.name).toBe(`New name of ${id}`);
        expect(token).not.toBe(before.get(id));
      }
      expect(world.store.tokens).toEqual(world.service.tokens);
      expect(await world.sync({ settings })).toMatchObject({ counts: { unchanged: 4 }, requests: 0 });
    },
  );

  it("takes two requests once an answer has shown the team", async () => {
    const world = await aSyncedWorld(IDS, settings);
    rename(world, "a", "b");
    await world.sync({ settings: { ...settings, concurrency: 1 } });
    expect(world.sent).toEqual(["GET a", "DELETE a", "GET a", "DELETE b", "GET b"]);
  });

  it.each(["TIMEOUT", "BAD_RESPONSE"] as const)(
    "whose DELETE was answered with %s is finished, because the group may be gone",
    async (code) => {
      for (const [ids, removals] of [
        [["a"], { replaced: 1 }],
        [["a", "b"], { replaced: 2 }],
      ] as const) {
        const world = await aSyncedWorld(IDS, settings);
        rename(world, ...ids);
        const last = ids.at(-1);
        const at = ({ when, call, id }: Point): void => {
          if (when === "after" && call === "remove" && id === last)
            throw new ServiceFailure(code, "no answer");
        };
        const report = await world.sync({ settings: { ...settings, concurrency: 1 }, at });
        expect(report).toMatchObject({ outcome: "ok", counts: removals });
        expect(groups(world)).toEqual(IDS);
        expect(world.store.tokens).toEqual(world.service.tokens);
      }
    },
  );

  it("is finished even if the run is told to stop while its DELETE may have been carried out", async () => {
    for (const ids of [["a"], ["a", "b"]]) {
      const world = await aSyncedWorld(IDS, settings);
      rename(world, ...ids);
      const last = ids.at(-1);
      const stop = new AbortController();
      const at = ({ when, call, id }: Point): void => {
        if (when !== "after" || call !== "remove" || id !== last) return;
        stop.abort();
        throw new ServiceFailure("TIMEOUT", "no answer");
      };
      await world.sync({ settings: { ...settings, concurrency: 1 }, at, signal: stop.signal });
      expect(groups(world)).toEqual(IDS);
      expect(world.store.tokens).toEqual(world.service.tokens);
    }
  });

  it("fails if its DELETE was not carried out, and is retried later", async () => {
    const world = await aSyncedWorld(IDS, settings);
    rename(world, "a");
    const report = await world.sync({
      settings,
      at: failing("before remove a", new ServiceFailure("BAD_RESPONSE", "HTML")),
    });
    expect(report).toMatchObject({ outcome: "partial", counts: { replaced: 0, failed: 1 } });
    expect(report.errors).toMatchObject([{ user_group_id: "a", code: "BAD_RESPONSE" }]);
    expect(await world.sync({ settings })).toMatchObject({ outcome: "ok", counts: { replaced: 1 } });
  });

  it("ends with the refusal of its DELETE, which had the live token", async () => {
    const world = await aSyncedWorld(IDS, settings);
    rename(world, "a");
    const at = failing("before remove a", new ServiceFailure("REFUSED", "HTTP 400"));
    expect(await world.sync({ settings, at })).toMatchObject({
      errors: [{ user_group_id: "a", code: "REFUSED" }],
    });
    expect(world.sent).toEqual(["GET a"]);
  });

  it("is not done if the service returns a group as new with its old token", async () => {
    const world = await aSyncedWorld(IDS, settings);
    world.service.saysNew = true;
    rename(world, "a", "b");
    expect(await world.sync({ settings })).toMatchObject({ outcome: "ok", counts: { replaced: 2 } });
    expect(world.service.groups.get("a")?.group.name).toBe("New name of a");
    expect(world.service.groups.get("b")?.group.name).toBe("New name of b");
    // An update isn't done either.
    rename(world, "c");
    expect((await world.sync()).errors).toMatchObject([{ user_group_id: "c", code: "NOT_UPDATED" }]);
  });

  it("fails if the service only claims to have deleted the group; the live token is stored", async () => {
    const world = await aSyncedWorld(IDS, settings);
    rename(world, "a");
    world.service.deletes = false;
    const report = await world.sync({ settings });
    expect(report).toMatchObject({ outcome: "partial", counts: { replaced: 0, failed: 1 } });
    expect(report.errors).toMatchObject([{ user_group_id: "a", code: "NOT_REPLACED" }]);
    expect(world.store.tokens).toEqual(world.service.tokens);
  });
});

it("a DELETE names the data source with which the group was made, whatever its row says now", async () => {
  const settings: Partial<SyncSettings> = {
    update: "replace",
    rules: { ...syncSettings().rules, dataSourceId: column("plan") },
    deletion: { when: "absent", gracePeriodMs: 0, limit: { count: 9, percent: 100 } },
  };
  const world = new World(tenants("a", "b", "c").map((tenant) => ({ ...tenant, plan: "before" })));
  await world.sync({ settings });
  world.tenants = tenants("a", "b").map((tenant) => ({ ...tenant, plan: "now" }));
  // The first removal of a run begins with a GET. The others have the stored token.
  expect(await world.sync({ settings })).toMatchObject({ counts: { replaced: 2, deleted: 1 } });
  const deletions = world.service.requests.filter(({ operation }) => operation === "DELETE");
  expect(deletions.map(({ id, dataSourceId }) => [id, dataSourceId]).toSorted()).toEqual([
    ["a", "before"],
    ["b", "before"],
    ["c", "before"],
  ]);
});
