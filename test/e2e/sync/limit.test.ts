import { expect, test } from "vitest";
import { passHours } from "../daemon/pass-time.ts";
import { dump } from "../dump.ts";
import { expectInSync } from "../in-sync.ts";
import { aSyncedWorld, aWorld, type ConfigChanges, idOf, type SyncEnded, type World } from "../world.ts";

const AT_ONCE = { deletion: { grace_period: "0s" } } as const;
const REPLACING = { ...AT_ONCE, service: { update: "replace" } } as const;

/** Twenty tenants in sync. The limit lets three of their groups go within 24 hours. */
const synced = (config: ConfigChanges = AT_ONCE): Promise<World> =>
  aSyncedWorld({ tenants: 20, service: { existing: "update" }, config });

const rename = (world: World, from: number, to: number) =>
  world.database.query("UPDATE customers SET company_name = company_name || '*' WHERE id BETWEEN $1 AND $2", [
    idOf(from),
    idOf(to),
  ]);

const held = (action: "delete" | "replace", from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => ({
    user_group_id: idOf(from + index),
    action,
  }));

const codesOf = ({ report }: SyncEnded): unknown[] =>
  (report.errors as { user_group_id: null; code: string }[]).map(({ user_group_id, code }) => [
    user_group_id,
    code,
  ]);

/** Expects that plan, sync and status name just these held removals. Returns the approval code. */
async function expectHeld(world: World, groups: readonly object[]): Promise<string> {
  const planned = await world.plan();
  const ended = await world.sync();
  expect(ended).toMatchObject({
    code: 4,
    report: { outcome: "held", deleted: 0, replaced: 0, held: groups.length, held_groups: groups },
  });
  expect(codesOf(ended)).toEqual([[null, "DELETIONS_HELD"]]);
  const code = ended.report.held_code as string;
  expect(code).toMatch(/^[0-9a-f]{20}$/);
  expect(planned).toMatchObject({ delete: [], held: { code, count: groups.length, groups } });
  expect(await world.status()).toMatchObject({ held: { code, count: groups.length, groups } });
  return code;
}

test("if 60 % of the tenants are gone, groups are created and updated, but not deleted", async () => {
  const world = await synced();
  const before = await world.live();
  await world.removeTenants(1, 12);
  await rename(world, 13, 13);
  await world.addTenants(21, 22);
  const untouched = await dump(world.database);
  const planned = await world.plan();
  expect(await dump(world.database)).toEqual(untouched);
  expect(await world.sync()).toMatchObject({
    code: 4,
    report: { outcome: "held", created: 2, updated: 1, deleted: 0, unchanged: 7, held: 12 },
  });
  expect(await expectHeld(world, held("delete", 1, 12))).toBe(planned.held.code);
  expect((await world.requests()).by_operation).toMatchObject({ GET: { 200: 3 }, DELETE: {} });
  expect(await world.live()).toMatchObject(before);
  expect(await world.stored()).toEqual(await world.live());
  expect((await world.groups())[12]).toMatchObject({ name: "Company 13*" });

  // The text says how many are held, which, and what to do.
  const { stdout } = await world.run("sync");
  expect(stdout).toMatch(
    /12 .*held[\s\S]*--approve-deletions [0-9a-f]{20}[\s\S]*delete t-00001 {2}"Company 1"\n/,
  );
});

test("an approval code approves only the removals that it was shown with, and once", async () => {
  const world = await synced();
  await world.removeTenants(1, 12);
  const ofTwelve = await expectHeld(world, held("delete", 1, 12));

  // A tenant comes back, so the set of removals is another one.
  await world.addTenants(12, 12);
  const refused = await world.sync("--approve-deletions", ofTwelve);
  expect(refused).toMatchObject({ code: 4, report: { deleted: 0, held: 11 } });
  expect(codesOf(refused)).toEqual([
    [null, "APPROVAL_MISMATCH"],
    [null, "DELETIONS_HELD"],
  ]);
  const ofEleven = await expectHeld(world, held("delete", 1, 11));
  expect(ofEleven).not.toBe(ofTwelve);
  expect(await world.sync("--approve-deletions", "0123456789ab")).toMatchObject({ code: 4 });
  expect((await world.requests()).by_operation.DELETE).toEqual({});

  expect(await world.sync("--approve-deletions", ofEleven)).toMatchObject({
    code: 0,
    report: { outcome: "ok", deleted: 11, unchanged: 9, held: 0, held_code: null, held_groups: [] },
  });
  await expectInSync(world);
  expect(await world.status()).toMatchObject({ held: null });

  // The same set a second time has another code.
  await world.addTenants(1, 11);
  expect(await world.sync()).toMatchObject({ code: 0, report: { created: 11 } });
  await world.removeTenants(1, 11);
  const again = await expectHeld(world, held("delete", 1, 11));
  expect(again).not.toBe(ofEleven);
  expect(await world.sync("--approve-deletions", ofEleven)).toMatchObject({
    code: 4,
    report: { deleted: 0 },
  });
  expect(await world.sync("--approve-deletions", again)).toMatchObject({ code: 0, report: { deleted: 11 } });
  await expectInSync(world);
});

test("a tenant that is back before the approval keeps its group", async () => {
  const world = await synced();
  const before = await world.live();
  await world.removeTenants(1, 12);
  const code = await expectHeld(world, held("delete", 1, 12));
  await world.addTenants(1, 12);
  expect(await world.sync("--approve-deletions", code)).toMatchObject({
    code: 0,
    report: { unchanged: 20, deleted: 0, held: 0, requests: 0 },
  });
  expect(await world.status()).toMatchObject({ held: null, groups: { in_sync: 20, missing: 0 } });
  expect(await world.live()).toEqual(before);
});

test("removals of the last 24 hours count against the limit, and earlier ones don't", async () => {
  const world = await synced();
  await world.removeTenants(1, 2);
  expect(await world.sync()).toMatchObject({ code: 0, report: { deleted: 2 } });
  await world.removeTenants(3, 4);
  await expectHeld(world, held("delete", 3, 4));
  await passHours(world, 25);
  expect(await world.sync()).toMatchObject({ code: 0, report: { deleted: 2, held: 0 } });
  await expectInSync(world);
});

test("deletions and replacements share the limit and the approval", async () => {
  const world = await synced(REPLACING);
  const before = await world.live();
  await world.removeTenants(1, 2);
  await rename(world, 3, 4);
  const code = await expectHeld(world, [...held("delete", 1, 2), ...held("replace", 3, 4)]);
  expect(await world.live()).toEqual(before);
  expect(await world.sync("--approve-deletions", code)).toMatchObject({
    code: 0,
    report: { deleted: 2, replaced: 2, unchanged: 16 },
  });
  await expectInSync(world);
});

test("replacements alone are held too", async () => {
  const world = await synced(REPLACING);
  await rename(world, 1, 10);
  await world.addTenants(21, 21);
  expect(await world.sync()).toMatchObject({ code: 4, report: { created: 1, replaced: 0, held: 10 } });
  const code = await expectHeld(world, held("replace", 1, 10));
  expect(await world.sync("--approve-deletions", code)).toMatchObject({ code: 0, report: { replaced: 10 } });
  await expectInSync(world);
});

test("three groups may go whatever their share is, and ten percent whatever their number is", async () => {
  const few = await aWorld({ tenants: 4, config: AT_ONCE });
  await few.sync();
  await few.removeTenants(1, 3);
  expect(await few.sync()).toMatchObject({ code: 0, report: { deleted: 3 } });
  await expectInSync(few);

  const many = await aWorld({ tenants: 50, config: AT_ONCE });
  await many.sync();
  await many.removeTenants(1, 5);
  expect(await many.sync()).toMatchObject({ code: 0, report: { deleted: 5 } });
  await expectInSync(many);
});

test("with a limit of zero, no group is removed without approval", async () => {
  const world = await synced({ deletion: { grace_period: "0s", limit: { count: 0, percent: 0 } } });
  await world.removeTenants(1, 1);
  const code = await expectHeld(world, held("delete", 1, 1));
  expect(await world.sync("--approve-deletions", code)).toMatchObject({ code: 0, report: { deleted: 1 } });
  await expectInSync(world);
});

test("--only deletes no group, held or not, and leaves a held one to the code of a full sync", async () => {
  const world = await synced();
  await world.removeTenants(1, 4);
  const isLeft = (...ids: string[]) => ({
    code: 0,
    report: {
      deleted: 0,
      held: 0,
      missing: ids.length,
      requests: 0,
      errors: ids.map((user_group_id) => ({
        user_group_id,
        code: "TENANT_GONE",
        message: "its tenant is gone; deleted by the next sync of all tenants",
      })),
    },
  });
  expect(await world.sync("--only", "t-00001", "--only", "t-00005")).toMatchObject(isLeft("t-00001"));
  const code = await expectHeld(world, held("delete", 1, 4));
  expect(await world.sync("--only", "t-00001", "--only", "t-00002")).toMatchObject(
    isLeft("t-00001", "t-00002"),
  );
  expect(Object.keys(await world.live())).toHaveLength(20);
  expect(await world.sync("--approve-deletions", code)).toMatchObject({ code: 0, report: { deleted: 4 } });
  await expectInSync(world);
  // Neither the ledger nor the source has the tenant any more.
  const { code: exit, stdout } = await world.run("sync", "--only", "t-00001");
  expect(exit).toBe(64);
  expect(stdout).toContain('neither the source nor the ledger has "t-00001"');
});

test("--only replaces groups within the limit, and beyond it with a code for these groups", async () => {
  const world = await synced(REPLACING);
  await rename(world, 1, 5);
  expect(await world.sync("--only", "t-00001", "--only", "t-00002")).toMatchObject({
    code: 0,
    report: { replaced: 2, held: 0 },
  });
  const more = ["--only", "t-00003", "--only", "t-00004"];
  const { code, stdout } = await world.run("plan", "--json", "--detailed-exitcode", ...more);
  expect(code).toBe(4);
  const held_groups = held("replace", 3, 4);
  const planned = JSON.parse(stdout);
  expect(planned).toMatchObject({ update: [], held: { count: 2, groups: held_groups } });
  const refused = { code: 4, report: { replaced: 0, held: 2, held_groups, held_code: planned.held.code } };
  expect(await world.sync(...more)).toMatchObject(refused);
  expect(await world.sync(...more, "--approve-deletions", planned.held.code)).toMatchObject({
    code: 0,
    report: { replaced: 2 },
  });
});
