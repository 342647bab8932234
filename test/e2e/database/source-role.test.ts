import { expect, test } from "vitest";
import { aWorld } from "../world.ts";

test("a sync warns once if the source's role can also read the tokens and the ledger", async () => {
  const world = await aWorld({ tenants: 2 });
  const { code, stderr } = await world.sync();
  expect(code).toBe(0);
  expect(stderr.match(/SOURCE_ROLE_READS_TOKENS.*groupsync_groups and \S*groupsync_tokens/g)).toHaveLength(1);
});
