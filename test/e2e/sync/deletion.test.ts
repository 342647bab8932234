import { expect, test } from "vitest";
import { aSyncedWorld } from "../world.ts";

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
