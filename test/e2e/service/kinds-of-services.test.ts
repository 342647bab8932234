import { expect, test } from "vitest";
import type { SandboxOptions } from "../../../src/sandbox/server.ts";
import { expectInSync } from "../in-sync.ts";
import { aWorld, type World } from "../world.ts";

/** Every value once. */
const KINDS: readonly Required<Pick<SandboxOptions, "deleteBy" | "errors" | "existing">>[] = [
  { deleteBy: "token", errors: "status", existing: "keep" },
  { deleteBy: "id", errors: "body", existing: "update" },
  { deleteBy: "both", errors: "body", existing: "keep" },
];

const change = (world: World, id: string, column: "company_name" | "warehouse") =>
  world.database.query(`UPDATE customers SET ${column} = ${column} || ', changed' WHERE id = $1`, [id]);

/** Rotates the token as somebody else: the stored token is dead. */
async function rotateBehind(world: World, id: string): Promise<void> {
  const { status } = await world.call("POST", { current_token: (await world.live())[id] });
  expect(status).toBe(200);
}

/** Deletes the group as somebody else. */
async function deleteBehind(world: World, id: string): Promise<void> {
  const { json } = await world.call("DELETE", { user_group_id: id, current_token: (await world.live())[id] });
  expect(json).toMatchObject({ success: 1 });
}

const loseToken = (world: World, id: string) =>
  world.database.query("DELETE FROM groupsync_tokens WHERE user_group_id = $1", [id]);

test.each(KINDS)(
  "deletes, renames and replaces at a service with delete-by: $deleteBy, errors: $errors, existing: $existing",
  async (kind) => {
    const world = await aWorld({
      tenants: 12,
      service: kind,
      config: {
        service: { update: "replace" },
        deletion: { grace_period: "0s", limit: { count: 100, percent: 100 } },
      },
    });
    const syncAs = async (report: Readonly<Record<string, number>>): Promise<void> => {
      expect(await world.sync()).toMatchObject({ code: 0, report: { outcome: "ok", failed: 0, ...report } });
      await expectInSync(world);
    };
    await syncAs({ created: 12 });

    // Changes without interference from outside.
    await world.removeTenants(1, 1);
    await world.addTenants(13, 13);
    await change(world, "t-00002", "company_name");
    await change(world, "t-00003", "warehouse");
    await syncAs({ created: 1, replaced: 2, deleted: 1, unchanged: 9 });

    // The stored token is out of date or lost, or the group is already gone.
    await world.removeTenants(4, 6);
    await change(world, "t-00007", "company_name");
    await change(world, "t-00008", "warehouse");
    await change(world, "t-00009", "company_name");
    for (const id of ["t-00004", "t-00007"]) await rotateBehind(world, id);
    for (const id of ["t-00005", "t-00008"]) await loseToken(world, id);
    for (const id of ["t-00006", "t-00009"]) await deleteBehind(world, id);
    await syncAs({ replaced: 3, deleted: 3, unchanged: 6 });

    // Tenants come back, while others go and change again.
    await world.addTenants(1, 1);
    await world.addTenants(4, 6);
    await world.removeTenants(7, 8);
    await change(world, "t-00002", "company_name");
    await change(world, "t-00009", "warehouse");
    await syncAs({ created: 4, replaced: 2, deleted: 2, unchanged: 5 });

    await world.forgetRequests();
    await syncAs({ unchanged: 11, requests: 0 });
  },
);
