import { describe, expect, it } from "vitest";
import { ServiceFailure, type ServiceFailureCode } from "../../../src/core/failure/service-failure.ts";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import { each, failing } from "../../fakes/instance.ts";
import { aSyncedWorld, tenants, World } from "../../fakes/world.ts";

const IDS = Array.from({ length: 30 }, (_, n) => `t${String(n).padStart(2, "0")}`);

const settings = { concurrency: 3 };

const asked = (world: World): string[] => world.service.requests.map(({ id }) => id);

const underWay = (world: World): string[] =>
  [...world.ledger.rows].flatMap(([id, row]) => (row.intent === null ? [] : [id]));

const service = (code: ServiceFailureCode) => () => new ServiceFailure(code, code);

/** The key is refused whatever the group. */
const refusesKey = failing("before", "rotateNobody", service("KEY_REFUSED"));

describe("intents", () => {
  it("are withdrawn if the run stops before their calls", async () => {
    const world = new World(tenants(...IDS));
    const refuses = failing("before", "getOrCreate", service("KEY_REFUSED"), { from: 5 });
    const report = await world.sync({ settings, at: each(refuses, refusesKey) });
    expect(report.error?.code).toBe("KEY_REFUSED");
    expect([...world.ledger.rows.keys()].sort()).toEqual(asked(world).sort());
    expect(underWay(world)).toEqual([]);
  });

  it("stay if a call may have reached the service", async () => {
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
    // It is settled first, as the group that the call with the lost answer created.
    const next = await world.sync();
    expect(asked(world)[4]).toBe("t03");
    // It might also have existed before, so its mapping isn't known.
    expect(next.counts).toMatchObject({ created: 27, adopted: 0, unverified: 1 });
  });

  it("stay if a call may have reached the service, and its row can't be read before the next attempt", async () => {
    const world = await aSyncedWorld(["a", "b", "c"]);
    world.tenants = tenants("c");
    const cut = failing("after", "remove", service("TIMEOUT"), { ids: ["b"] });
    const away = () => new SyncError("SOURCE_UNAVAILABLE", "gone");
    const unread = failing("before", "rowsOf", away, { from: 4 });
    // A look at the row counts for a second.
    world.network = () => world.time.sleep(2_000);
    const report = await world.sync({ settings: { concurrency: 1 }, at: each(cut, unread) });
    expect(report.error?.code).toBe("SOURCE_UNAVAILABLE");
    expect(underWay(world)).toEqual(["b"]);
    world.tenants = tenants("b", "c");
    expect(await world.sync()).toMatchObject({ outcome: "ok" });
    expect([...world.service.groups.keys()].sort()).toEqual(["b", "c"]);
    expect(world.store.tokens).toEqual(world.service.tokens);
  });

  it("of an earlier run stay unchanged if this run doesn't reach them", async () => {
    const world = new World(tenants("a", "b"));
    const cut = failing("after", "getOrCreate", service("TIMEOUT"));
    await world.sync({ settings: { concurrency: 1 }, at: cut });
    const before = new Map([...world.ledger.rows].map(([id, row]) => [id, row.intent]));
    expect(underWay(world)).toEqual(["a", "b"]);
    await world.sync({ at: failing("before", "getOrCreate", service("UNREACHABLE")) });
    expect(new Map([...world.ledger.rows].map(([id, row]) => [id, row.intent]))).toEqual(before);
  });

  it("are withdrawn if tokens can't be stored", async () => {
    const world = new World(tenants(...IDS));
    const away = () => new SyncError("TOKEN_STORE_UNAVAILABLE", "no route");
    const report = await world.sync({ settings, at: failing("before", "writeTokens", away, { from: 2 }) });
    expect(report.error?.code).toBe("TOKEN_STORE_UNAVAILABLE");
    expect([...world.ledger.rows.keys()].sort()).toEqual(asked(world).sort());
  });

  it("of few groups are committed at first, for the first call, and of more once the service is fast", async () => {
    const world = new World(tenants(...Array.from({ length: 1_100 }, (_, n) => `t${n}`)));
    const committed: number[] = [];
    await world.sync({
      at: async ({ when, call }) => {
        if (when === "before" && call === "begun") committed.push(world.ledger.rows.size);
        if (call === "commit") await world.time.sleep(50);
      },
    });
    expect(committed[1]).toBeLessThanOrEqual(16);
    expect(Math.max(...committed.map((rows, n) => rows - (committed[n - 1] ?? 0)))).toBeGreaterThan(64);
  });
});
