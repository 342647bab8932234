import { describe, expect, it } from "vitest";
import { desiredTenants, digestSeed } from "../../../src/core/group/desired-group.ts";
import { columnsOf } from "../../../src/core/group/group-rules.ts";
import type { Removal } from "../../../src/core/plan/change.ts";
import { removalCheck } from "../../../src/engine/loop/removal-check.ts";
import type { TenantSource } from "../../../src/ports/tenant-source.ts";
import { aTenantRow, InMemoryTenantSource, type TenantRecord } from "../../fakes/tenant-source.ts";
import { VirtualClock, VirtualTime } from "../../fakes/virtual-time.ts";
import { aSyncedWorld, syncSettings, tenants } from "../../fakes/world.ts";

const FOREVER = new AbortController().signal;
const { rules } = syncSettings();

/** A check of removals, and the ids of each look at the source. */
function aCheck(...records: TenantRecord[]) {
  const time = new VirtualTime();
  const memory = new InMemoryTenantSource(records, async () => {});
  const looks: (readonly string[])[] = [];
  const source: TenantSource = {
    open: (columns, seed) => memory.open(columns, seed),
    lookups: async (columns, seed) => {
      const lookups = await memory.lookups(columns, seed);
      const rowsOf = (ids: readonly string[]) => {
        looks.push(ids);
        return lookups.rowsOf(ids);
      };
      return { ...lookups, rowsOf };
    },
  };
  return {
    check: removalCheck({ source, clock: new VirtualClock(time) }, rules, null, FOREVER),
    looks,
    time,
  };
}

const row = (id: string, more: TenantRecord = {}): TenantRecord => ({ id, name: id, plan: "gold", ...more });

const deletion = (id: string): Removal => ({
  kind: "delete",
  user_group_id: id,
  absence: "absent",
  underWay: false,
  failedBefore: false,
});

function replacement(record: TenantRecord): Removal {
  const cells = columnsOf(rules).map((name) => record[name] ?? null);
  const tenant = desiredTenants(rules)(aTenantRow(cells, digestSeed(rules)));
  if (tenant.kind !== "desired") throw new Error("the row is no tenant");
  return { ...tenant, kind: "replace", underWay: false, failedBefore: false };
}

describe("a deletion", () => {
  it("is right if the tenant has no row, or one that says it is gone", async () => {
    const { check } = aCheck(row("flagged", { removed: true }));
    expect(await check.isStillRight(deletion("absent"), [])).toBe(true);
    expect(await check.isStillRight(deletion("flagged"), [])).toBe(true);
  });

  it("is outdated if the tenant has a row, be it a rejected one or one of several", async () => {
    const { check } = aCheck(row("back"), row("rejected", { name: null }), row("twice"), row("twice"));
    for (const id of ["back", "rejected", "twice"])
      expect(await check.isStillRight(deletion(id), [])).toBe(false);
  });
});

it("a replacement is outdated if the row is gone, or isn't the one that was planned", async () => {
  const planned = replacement(row("a"));
  expect(await aCheck(row("a")).check.isStillRight(planned, [])).toBe(true);
  expect(await aCheck(row("a", { plan: "silver" })).check.isStillRight(planned, [])).toBe(false);
  expect(await aCheck().check.isStillRight(planned, [])).toBe(false);
});

describe("a lookup", () => {
  it("is at the next removals too, and counts for a second", async () => {
    const { check, looks, time } = aCheck();
    await check.isStillRight(deletion("a"), [deletion("b"), deletion("c")]);
    await check.isStillRight(deletion("b"), [deletion("c")]);
    expect(looks).toEqual([["a", "b", "c"]]);
    await time.sleep(1_001);
    await check.isStillRight(deletion("c"), []);
    expect(looks).toEqual([["a", "b", "c"], ["c"]]);
  });

  it("doesn't count if somebody else may have seen a newer row since", async () => {
    const { check, looks } = aCheck();
    await check.isStillRight(deletion("a"), [deletion("b")]);
    await check.isStillRight(deletion("b"), [], true);
    expect(looks).toEqual([["a", "b"], ["b"]]);
  });

  it("ends with its connection, and no connection is opened without a removal", async () => {
    const { check, looks } = aCheck();
    await check.close();
    expect(looks).toEqual([]);
  });
});

it("a tenant is looked at only once the service's limit allows its DELETE", async () => {
  const world = await aSyncedWorld(["a", "b", "c"]);
  world.tenants = tenants("c");
  const { report } = world.start({ settings: { rateLimit: { count: 1, perMs: 60_000 } } });
  await world.time.sleep(90_000);
  expect(world.sent).toEqual(["GET a", "DELETE a"]);
  world.tenants.push(...tenants("b"));
  expect(await report).toMatchObject({ counts: { deleted: 1 }, errors: [{ code: "TENANT_RETURNED" }] });
  expect([...world.service.groups.keys()]).toEqual(["b", "c"]);
  expect(world.ledger.rows.get("b")).toMatchObject({ intent: null });
});

it("a replacement that is dropped because the row has changed again is not done", async () => {
  const world = await aSyncedWorld(["a", "b"]);
  world.tenants = world.tenants.map((tenant) => ({ ...tenant, plan: "silver" }));
  const { report } = world.start({
    settings: { update: "replace", rateLimit: { count: 1, perMs: 60_000 } },
  });
  await world.time.sleep(150_000);
  expect(world.sent).toEqual(["GET a", "DELETE a", "GET a"]);
  world.tenants.splice(1, 1, { id: "b", name: "Name of b", plan: "free" });
  expect(await report).toMatchObject({
    outcome: "partial",
    counts: { replaced: 1, failed: 1 },
    errors: [{ user_group_id: "b", code: "TENANT_RETURNED" }],
  });
});
