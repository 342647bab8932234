import { expect, test } from "vitest";
import { aWorld, type World } from "../world.ts";

const CODE = /"code":"(SOURCE_[A-Z_]+)"/g;

/** The warnings of a sync, and of the plan after it, about the source's role. */
async function warnings(world: World) {
  const { code, stderr } = await world.sync();
  expect(code).toBe(0);
  const { warnings: foreseen } = await world.plan();
  return {
    sync: [...stderr.matchAll(CODE)].map(([, name]) => name),
    plan: foreseen.map(({ code: name }: { readonly code: string }) => name),
  };
}

test("each run warns once if the source's role can also read the tokens and the ledger", async () => {
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
