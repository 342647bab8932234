import { expect, inject, test } from "vitest";
import { withReader } from "./role.ts";
import { aWorld, type World } from "./world.ts";

const CODE = /"code":"(SOURCE_[A-Z_]+)"/g;

/** What a sync, and the plan after it, warn of as to the source's role. */
async function warnings(world: World) {
  const { code, stderr } = await world.sync();
  expect(code).toBe(0);
  const { warnings: foreseen } = await world.plan();
  return {
    sync: [...stderr.matchAll(CODE)].map(([, name]) => name),
    plan: foreseen.map(({ code: name }: { readonly code: string }) => name),
  };
}

test("a role that reads the source, the tokens and the ledger is warned of, once in each run", async () => {
  const world = await aWorld({ tenants: 2 });
  const one = { sync: ["SOURCE_ROLE_READS_TOKENS"], plan: ["SOURCE_ROLE_READS_TOKENS"] };
  expect(await warnings(world)).toEqual(one);
  expect(await warnings(world)).toEqual(one);
  const { code, stdout } = await world.run("plan", "--detailed-exitcode");
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /^Nothing to do: 2 groups in sync\.\nA sync would warn: user .*groupsync_groups and /,
  );
});

test("one that reads the tenants alone is not", async () => {
  const world = await aWorld({ tenants: 2 });
  await world.configure(await withReader(world));
  expect(await warnings(world)).toEqual({ sync: [], plan: [] });
});

test.runIf(inject("databaseKind") === "postgres")(
  "a schema of its path that others write to is warned of where the config has SQL",
  async () => {
    const world = await aWorld({ tenants: 2 });
    const config = await withReader(world);
    await world.database.query("GRANT CREATE ON SCHEMA public TO public");
    await world.configure(config);
    expect(await warnings(world)).toEqual({ sync: [], plan: [] });
    await world.configure({ ...config, source: { ...Object(config.source), where: "plan = 'gold'" } });
    expect(await warnings(world)).toEqual({ sync: ["SOURCE_PATH_OPEN"], plan: ["SOURCE_PATH_OPEN"] });
  },
);
