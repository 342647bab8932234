import { describe, expect, it } from "vitest";
import { SyncError } from "../../src/core/errors.ts";
import { ServiceFailure, type ServiceFailureCode } from "../../src/core/service-failure.ts";
import type { Point } from "../fakes/instance.ts";
import { tenants, World } from "../fakes/world.ts";

const IDS = Array.from({ length: 30 }, (_, n) => `t${String(n).padStart(2, "0")}`);
const settings = { concurrency: 3 };
const asked = (world: World): string[] => world.service.requests.map(({ id }) => id);
const underWay = (world: World): string[] =>
  [...world.ledger.rows].flatMap(([id, row]) => (row.intent === null ? [] : [id]));

/** Rejects with `error()` from the nth time on that this point is reached; `times` at most. */
function failing(when: Point["when"], call: string, error: () => Error, { from = 1, times = Infinity } = {}) {
  let reached = 0;
  return (point: Point): void => {
    if (point.when !== when || point.call !== call) return;
    reached++;
    if (reached >= from && reached < from + times) throw error();
  };
}
const service = (code: ServiceFailureCode) => () => new ServiceFailure(code, code);

describe("intents", () => {
  it("are taken back where the run stops before their calls", async () => {
    const world = new World(tenants(...IDS));
    const report = await world.sync({
      settings,
      at: failing("before", "getOrCreate", service("KEY_REFUSED"), { from: 5 }),
    });
    expect(report.error?.code).toBe("KEY_REFUSED");
    expect([...world.ledger.rows.keys()].sort()).toEqual(asked(world).sort());
    expect(underWay(world)).toEqual([]);
  });

  it("stay where a call may have had its effect", async () => {
    const world = new World(tenants(...IDS));
    const stopping = new AbortController();
    const report = await world.sync({
      settings: { concurrency: 1 },
      signal: stopping.signal,
      at: ({ when, call, id }) => {
        if (when !== "after" || call !== "getOrCreate" || id !== "t03") return;
        stopping.abort();
        throw new ServiceFailure("CONNECTION_LOST", "cut");
      },
    });
    expect(report.error?.code).toBe("INTERRUPTED");
    expect(underWay(world)).toEqual(["t03"]);
    // Settled first, and known for what it is: made by the call whose answer was lost.
    const next = await world.sync();
    expect(asked(world)[4]).toBe("t03");
    // But it might have been there before: nothing shows what mapping it has.
    expect(next.counts).toMatchObject({ created: 27, adopted: 0, unverified: 1 });
  });

  it("of an earlier run stay as they were where this one doesn't get to them", async () => {
    const world = new World(tenants("a", "b"));
    const cut = failing("after", "getOrCreate", service("TIMEOUT"));
    await world.sync({ settings: { concurrency: 1 }, at: cut });
    const before = new Map([...world.ledger.rows].map(([id, row]) => [id, row.intent]));
    expect(underWay(world)).toEqual(["a", "b"]);
    await world.sync({ at: failing("before", "getOrCreate", service("KEY_REFUSED")) });
    expect(new Map([...world.ledger.rows].map(([id, row]) => [id, row.intent]))).toEqual(before);
  });

  it("are taken back also where tokens can't be stored", async () => {
    const world = new World(tenants(...IDS));
    const away = () => new SyncError("TOKEN_STORE_UNAVAILABLE", "no route");
    const report = await world.sync({ settings, at: failing("before", "writeTokens", away, { from: 2 }) });
    expect(report.error?.code).toBe("TOKEN_STORE_UNAVAILABLE");
    expect([...world.ledger.rows.keys()].sort()).toEqual(asked(world).sort());
  });
});

describe("recording", () => {
  it("lets a token that can't be stored cost its own tenant alone", async () => {
    const world = new World(tenants("a", "b", "c"));
    world.store.refused.add("b");
    const report = await world.sync();
    expect(report).toMatchObject({ outcome: "partial", counts: { created: 2, failed: 1 } });
    expect(report.errors).toMatchObject([{ user_group_id: "b", code: "TOKEN_NOT_STORED" }]);
    expect(underWay(world)).toEqual(["b"]);

    world.store.refused.clear();
    const before = world.service.requests.length;
    expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { created: 1, unchanged: 2 } });
    expect(asked(world).slice(before)).toEqual(["b"]);
    expect(world.store.tokens).toEqual(world.service.tokens);
  });

  it.each([1, 2, 3, 5, 8])(
    "ends the run where the ledger fails for good from its commit %i on, and loses nothing",
    async (from) => {
      const world = new World(tenants(...IDS));
      const away = () => new SyncError("LEDGER_UNAVAILABLE", "no route");
      const report = await world.sync({ settings, at: failing("before", "commit", away, { from }) });
      expect(report).toMatchObject({ outcome: "failed", error: { code: "LEDGER_UNAVAILABLE" } });
      for (const id of asked(world)) expect(world.ledger.rows.has(id)).toBe(true);
      expect(world.service.requests.length).toBeLessThan(IDS.length);

      expect(await world.sync({ settings })).toMatchObject({ outcome: "ok" });
      expect(world.store.tokens).toEqual(world.service.tokens);
      expect(world.service.groups.size).toBe(IDS.length);
    },
  );

  it("reports the first error where ending fails too", async () => {
    const world = new World(tenants(...IDS));
    let refused = false;
    const report = await world.sync({
      settings,
      at: ({ when, call }) => {
        if (call === "getOrCreate" && when === "before" && world.service.requests.length > 4) {
          refused = true;
          throw new ServiceFailure("KEY_REFUSED", "HTTP 401");
        }
        if (call === "commit" && refused) throw new SyncError("LEDGER_UNAVAILABLE", "no route");
      },
    });
    expect(report.error?.code).toBe("KEY_REFUSED");
  });
});

describe("failures of the service", () => {
  it("cost a poisoned tenant alone", async () => {
    const world = new World(tenants("a", "b", "c"));
    const report = await world.sync({
      at: ({ when, call, id }) => {
        if (when === "before" && call === "getOrCreate" && id === "b")
          throw new ServiceFailure("REFUSED", "no");
      },
    });
    expect(report).toMatchObject({ outcome: "partial", counts: { created: 2, failed: 1 }, requests: 3 });
    expect(underWay(world)).toEqual([]);
  });

  it("cost any number of them, as long as others are served in between", async () => {
    const world = new World(tenants(...IDS));
    const poisoned = new Set(IDS.filter((_, n) => n % 3 !== 0));
    const report = await world.sync({
      settings: { concurrency: 1 },
      at: ({ when, call, id }) => {
        if (when === "before" && call === "getOrCreate" && poisoned.has(id ?? "")) {
          throw new ServiceFailure("SERVICE_ERROR", "HTTP 500");
        }
      },
    });
    expect(report).toMatchObject({ outcome: "partial", counts: { created: 10, failed: 20 } });
  });

  it("that lose the answer are repeated, and make no second group", async () => {
    const world = new World(tenants("a"));
    const lostOnce = failing("after", "getOrCreate", service("CONNECTION_LOST"), { times: 1 });
    const report = await world.sync({ at: lostOnce });
    expect(report).toMatchObject({ outcome: "ok", requests: 2, counts: { created: 1, unverified: 0 } });
    expect(world.store.tokens).toEqual(world.service.tokens);
  });

  it("end the run once it is clear that they are nobody's own", async () => {
    const world = new World(tenants(...IDS));
    const report = await world.sync({
      settings,
      at: failing("before", "getOrCreate", service("SERVICE_ERROR")),
    });
    expect(report.error?.code).toBe("SERVICE_UNAVAILABLE");
    expect(report.requests).toBe(8 + 4);
  });
});

describe("what is not the service at all", () => {
  it.each<[ServiceFailureCode, number]>([
    ["BAD_RESPONSE", 5],
    ["REFUSED", 100],
  ])("and says nothing but %s is asked %i times", async (code, times) => {
    const world = new World(tenants(...Array.from({ length: 150 }, (_, n) => String(n))));
    const wrong = failing("before", "getOrCreate", service(code));
    const report = await world.sync({ settings, at: wrong });
    expect(report).toMatchObject({ error: { code: "SERVICE_UNAVAILABLE" }, requests: times });
  });

  it("delays no group for long once the mistake is mended", async () => {
    const world = new World(tenants("a", "b", "c"));
    const at = failing("before", "getOrCreate", service("BAD_RESPONSE"));
    for (let run = 0; run < 12; run++) {
      expect(await world.sync({ at })).toMatchObject({ outcome: "partial", counts: { failed: 3 } });
      await world.time.sleep(6 * 3_600_000);
    }
    await world.sync({ at });
    await world.time.sleep(10 * 60_000);
    expect(await world.sync()).toMatchObject({ outcome: "ok", counts: { created: 3 } });
  });

  it("is told from the service by those that come after the ones that always fail", async () => {
    const world = new World(tenants(...IDS));
    const poisoned = new Set(IDS.slice(0, 8));
    const at = ({ when, call, id }: Point): void => {
      if (when === "before" && call === "getOrCreate" && poisoned.has(id ?? ""))
        throw new ServiceFailure("SERVICE_ERROR", "HTTP 500");
    };
    let created = 0;
    for (let run = 0; run < 30 && created === 0; run++) {
      created = (await world.sync({ at })).counts.created;
      await world.time.sleep(5 * 60_000);
    }
    expect(created).toBe(22);
  });

  it("is another matter than a service that refuses the groups of a later run", async () => {
    const world = new World(tenants("a"));
    await world.sync();
    world.tenants.push(...tenants(...IDS));
    const report = await world.sync({
      settings,
      at: failing("before", "getOrCreate", service("REFUSED"), { times: 29 }),
    });
    expect(report).toMatchObject({ outcome: "partial", counts: { created: 1, failed: 29 } });
  });
});

describe("the team", () => {
  it("is remembered, and a group made in another one is taken out of it again", async () => {
    const world = new World(tenants("a"));
    await world.sync();
    const own = new Map(world.store.tokens);
    world.tenants.push(...tenants("b", "c"));
    world.service.teamId = 8;
    const before = world.service.requests.length;
    const report = await world.sync();
    expect(report).toMatchObject({ error: { code: "TEAM_CHANGED" }, requests: 2, counts: { created: 0 } });
    expect(world.service.requests.slice(before)).toEqual([
      { operation: "GET", id: "b" },
      { operation: "DELETE", id: "b" },
    ]);
    expect(world.service.groups.size).toBe(0);
    expect(world.store.tokens).toEqual(own);
    expect([...world.ledger.rows.keys()]).toEqual(["a"]);
  });

  it("of a group that was there already is left as it is", async () => {
    const world = new World(tenants("a"));
    await world.sync();
    world.service.teamId = 8;
    world.tenants.push(...tenants("b"));
    world.service.put({ user_group_id: "b", name: "Theirs", mapping: {}, properties: {} });
    expect(await world.sync()).toMatchObject({ error: { code: "TEAM_CHANGED" }, requests: 1 });
    expect(world.service.groups.has("b")).toBe(true);
  });

  it("names a group that could not be taken out again", async () => {
    const world = new World(tenants("a"));
    await world.sync();
    world.service.teamId = 8;
    world.tenants.push(...tenants("b"));
    const { events, report } = world.start({ at: failing("before", "remove", service("TIMEOUT")) });
    expect(await report).toMatchObject({ error: { code: "TEAM_CHANGED" } });
    expect(events).toContainEqual(
      expect.objectContaining({ code: "GROUP_LEFT_BEHIND", message: expect.stringMatching(/b .*team 8/) }),
    );
  });

  it("is the reason why nothing is asked of another address", async () => {
    const world = new World(tenants("a"));
    await world.sync();
    world.tenants.push(...tenants("b"));
    const report = await world.sync({ settings: { baseUrl: "https://staging.example.com" } });
    expect(report).toMatchObject({ requests: 0, error: { code: "SERVICE_CHANGED" } });
  });
});
