import { expect, test } from "vitest";
import { expectInSync } from "../in-sync.ts";
import { aSyncedWorld } from "../world.ts";

test("a run with a single deletion first asks by GET which team the API key belongs to; its DELETE names the data source of the group", async () => {
  const world = await aSyncedWorld({
    config: {
      group: { data_source_provided_id: "source-{{ warehouse }}" },
      deletion: { grace_period: "0s" },
    },
  });
  await world.removeTenants(1, 1);
  expect(await world.sync()).toMatchObject({ code: 0, report: { outcome: "ok", deleted: 1, requests: 2 } });
  await expectInSync(world);
  const { by_operation, deletions } = await world.requests();
  expect(by_operation).toMatchObject({ GET: { 200: 1 }, DELETE: { 200: 1 } });
  expect(deletions).toEqual([{ user_group_id: "t-00001", data_source_provided_id: "source-warehouse-1" }]);
});

test("sync --skip-grace deletes a named group in its grace period; it is wrong usage with deletion.when: never", async () => {
  const world = await aSyncedWorld({ tenants: 3 });
  await world.removeTenants(1, 2);
  const skipGrace = (id: string) => world.run("sync", "--only", id, "--skip-grace");
  expect(await skipGrace("t-00001")).toMatchObject({ code: 0 });
  expect(Object.keys(await world.live())).toEqual(["t-00002", "t-00003"]);

  await world.configure({ deletion: { when: "never" } });
  expect(await skipGrace("t-00002")).toMatchObject({
    code: 64,
    stdout: "",
    stderr: expect.stringContaining("deletion.when is never"),
  });
  expect(Object.keys(await world.live())).toEqual(["t-00002", "t-00003"]);
});
