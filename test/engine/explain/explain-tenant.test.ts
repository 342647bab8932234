import { expect, test } from "vitest";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import { type Explanation, explainTenant } from "../../../src/engine/explain/explain-tenant.ts";
import { makePlan, readLedgerState } from "../../../src/engine/plan/make-plan.ts";
import { isChange } from "../../../src/engine/plan/plan.ts";
import { type Fate, Instance } from "../../fakes/instance.ts";
import { synced } from "../../fakes/two-stores.ts";
import { VirtualClock } from "../../fakes/virtual-time.ts";
import { aSyncedWorld, syncSettings, tenants, World } from "../../fakes/world.ts";

const stop = new AbortController().signal;

async function explain(world: World, id: string, fate: Fate = {}): Promise<Explanation> {
  const ports = world.ports(new Instance(fate), new VirtualClock(world.time));
  return explainTenant(id, { ports, ...ports, ...syncSettings(), settings: syncSettings() }, stop);
}

test("says of each tenant what the plan of all tenants says", async () => {
  const world = await aSyncedWorld(["changed", "departed", "gone", "kept", "rejected"]);
  world.tenants = [
    { id: "changed", name: "Changed", plan: "gold" },
    { id: "kept", name: "Name of kept", plan: "gold" },
    { id: "new", name: "New", plan: "gold" },
    { id: "rejected", name: null, plan: "gold" },
  ];
  const ports = world.ports(new Instance(), new VirtualClock(world.time));
  const state = await readLedgerState(ports);
  const plan = await makePlan(ports, syncSettings(), state, world.time.now(), stop);
  const planned = new Map<string | null, object>();
  for await (const batch of plan.entries.read())
    for (const entry of batch)
      if (isChange(entry) || entry.kind === "rejected") planned.set(entry.user_group_id, entry);
  expect([...planned.keys()]).toEqual(["changed", "departed", "gone", "new", "rejected"]);

  world.service.requests.length = 0;
  for (const id of ["changed", "departed", "gone", "kept", "new", "rejected"])
    expect((await explain(world, id)).action).toEqual(planned.get(id) ?? null);
  expect(world.service.requests).toEqual([]);
});

test("says since when syncs have found a row rejected, as long as it is", async () => {
  const world = new World([{ id: "a", name: null, plan: "gold" }, ...tenants("b")]);
  expect((await explain(world, "a")).rejectedSince).toBeNull();
  const since = world.time.now();
  await world.sync();
  const { rejectedSince } = await explain(world, "a");
  expect(rejectedSince?.getTime()).toBeGreaterThanOrEqual(since.getTime());
  world.tenants = tenants("a", "b");
  expect((await explain(world, "a")).rejectedSince).toBeNull();
});

test("keeps the past of a group that is deleted, and knows no id without a past", async () => {
  const world = await aSyncedWorld(["gone", "kept"]);
  world.tenants = tenants("kept");
  expect(await world.sync()).toMatchObject({ counts: { deleted: 1 } });
  expect(await explain(world, "gone")).toMatchObject({
    tenant: undefined,
    action: null,
    ...{ group: null, removals: [{ kind: "delete" }], formerTokens: [{}] },
  });
  await expect(explain(world, "Gone")).rejects.toMatchObject({
    code: "UNKNOWN_ID",
    message: 'neither the source nor the ledger has "Gone"',
  });
});

test("tells whether the stores hold the token that the ledger names", async () => {
  const world = await synced("a");
  const copies = async (fate?: Fate) => (await explain(world, "a", fate)).copies;
  expect(await copies()).toEqual({ kind: "in every store" });
  world.second.tokens.clear();
  expect(await copies()).toEqual({ kind: "in some stores" });
  world.store.tokens.set("a", "another");
  expect(await copies()).toMatchObject({ kind: "another token" });
  world.store.tokens.clear();
  expect(await copies()).toEqual({ kind: "no token" });

  const error = new SyncError("TOKEN_STORE_UNAVAILABLE", "no such directory");
  const at: Fate["at"] = ({ call }) => {
    if (call.includes("Tokens")) throw error;
  };
  expect(await copies({ at })).toEqual({ kind: "unreadable", error });
});

test.each([true, false])(
  "looks a tenant up for the page only if an index finds it (%j)",
  async (isIndexed) => {
    const world = await aSyncedWorld(["a"]);
    const ports = world.ports(new Instance(), new VirtualClock(world.time));
    let open = 0;
    const lookups: typeof ports.source.lookups = async (...request) => {
      const opened = await ports.source.lookups(...request);
      open++;
      return { ...opened, isIndexed, close: async () => void open-- };
    };
    const setup = { ...ports, ...syncSettings(), settings: syncSettings(), indexedOnly: true };
    const explained = explainTenant(
      "a",
      { ...setup, ports: { ...ports, source: { ...ports.source, lookups } } },
      stop,
    );
    if (isIndexed) await explained;
    else await expect(explained).rejects.toMatchObject({ code: "LOOKUPS_NOT_INDEXED" });
    expect(open).toBe(0);
  },
);

test("tells the code that approves what is held as long as it stands for all that is held", async () => {
  const world = await aSyncedWorld(["a", "b", "c", "here"]);
  world.tenants = tenants("here");
  const limit = { count: 1, percent: 0 };
  const settings = { deletion: { ...syncSettings().deletion, gracePeriodMs: 0, limit } };
  const report = await world.sync({ settings });
  expect(report).toMatchObject({ outcome: "held", counts: { held: 3 } });
  const { history } = world.ledger;
  expect((await explain(world, "b")).approval).toBe(history.held?.code);
  expect((await explain(world, "here")).approval).toBeNull();
  world.tenants = tenants("a", "here");
  await world.sync({ settings, only: new Set(["a"]) });
  expect(await explain(world, "b")).toMatchObject({ group: { held: "delete" }, approval: null });
});
