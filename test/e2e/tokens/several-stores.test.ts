import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { aWorld, idOf, type World } from "../world.ts";
import { tokensIn } from "./tokens-in.ts";

const TABLE = { table: "groupsync_tokens" };

/** A world whose tokens go into the table and into files, by default. */
async function aWorldOfTwo(tenants: number) {
  const world = await aWorld({ tenants });
  const directory = join(world.folder, "tokens");
  const tokens = [TABLE, { store: "file", directory, verify: "1s" }];
  await world.configure({ tokens });
  return { world, directory, tokens };
}

async function expectBoth(world: World, directory: string): Promise<void> {
  const live = await world.live();
  expect(await world.stored()).toEqual(live);
  expect(await tokensIn(directory)).toEqual(live);
}

test("tokens go into a table and files; a store that refused a token gets it later from the other, without a request", async () => {
  const { world, directory } = await aWorldOfTwo(4);
  expect(await world.sync()).toMatchObject({ code: 0, report: { created: 4 } });
  await expectBoth(world, directory);

  // A folder is in the way of a file.
  await world.addTenants(5, 5);
  await mkdir(join(directory, idOf(5), "x"), { recursive: true });
  const refused = await world.sync();
  expect(refused).toMatchObject({ code: 3, report: { failed: 1, requests: 1 } });
  expect(refused.report.errors).toMatchObject([{ user_group_id: idOf(5), code: "TOKEN_NOT_EVERYWHERE" }]);

  await rm(join(directory, idOf(5)), { recursive: true });
  expect(await world.sync()).toMatchObject({ code: 0, report: { restored: 1, requests: 0 } });
  await expectBoth(world, directory);
  expect(await world.rotate("--all", "--yes")).toMatchObject({ code: 0, report: { rotated: 5 } });
  await expectBoth(world, directory);
});
