import { expect, test } from "vitest";
import { dump } from "../dump.ts";
import { expectInSync } from "../in-sync.ts";
import { aSyncedWorld, idOf, type SyncEnded, type World } from "../world.ts";

/** Twenty tenants in sync. The limit lets three of their groups go within 24 hours. */
const synced = (): Promise<World> =>
  aSyncedWorld({
    tenants: 20,
    service: { existing: "update" },
    config: { deletion: { grace_period: "0s" } },
  });

const rename = (world: World, from: number, to: number) =>
  world.database.query("UPDATE customers SET company_name = company_name || '*' WHERE id BETWEEN $1 AND $2", [
    idOf(from),
    idOf(to),
  ]);

const held = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => ({
    user_group_id: idOf(from + index),
    action: "delete",
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
  expect(await expectHeld(world, held(1, 12))).toBe(planned.held.code);
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
  const ofTwelve = await expectHeld(world, held(1, 12));

  // A tenant comes back, so the set of removals is another one.
  await world.addTenants(12, 12);
  const refused = await world.sync("--approve-deletions", ofTwelve);
  expect(refused).toMatchObject({ code: 4, report: { deleted: 0, held: 11 } });
  expect(codesOf(refused)).toEqual([
    [null, "APPROVAL_MISMATCH"],
    [null, "DELETIONS_HELD"],
  ]);
  const ofEleven = await expectHeld(world, held(1, 11));
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
  const again = await expectHeld(world, held(1, 11));
  expect(again).not.toBe(ofEleven);
  expect(await world.sync("--approve-deletions", ofEleven)).toMatchObject({
    code: 4,
    report: { deleted: 0 },
  });
  expect(await world.sync("--approve-deletions", again)).toMatchObject({ code: 0, report: { deleted: 11 } });
  await expectInSync(world);
});
