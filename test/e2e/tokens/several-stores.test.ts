import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { aDaemon, EVERY_SECOND } from "../daemon/a-daemon.ts";
import { aWorld, idOf, until, type World } from "../world.ts";
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

test("tokens that were removed or changed in either store are written again by --verify-tokens, and as often as tokens.verify says", async () => {
  const { world, directory, tokens } = await aWorldOfTwo(5);
  await world.sync();
  await rm(join(directory, idOf(1)));
  await writeFile(join(directory, idOf(2)), "made up");
  await world.database.query("DELETE FROM groupsync_tokens WHERE user_group_id IN ($1, $2)", [
    idOf(3),
    idOf(4),
  ]);
  await rm(join(directory, idOf(4)));
  await world.forgetRequests();
  expect(await world.sync("--verify-tokens")).toMatchObject({
    code: 0,
    report: { unchanged: 5, restored: 4, updated: 0, unverified: 0, requests: 2 },
  });
  await expectBoth(world, directory);
  expect((await world.requests()).by_group).toMatchObject({ [idOf(2)]: { GET: 1 }, [idOf(4)]: { GET: 1 } });

  await world.configure({ ...EVERY_SECOND, tokens });
  const daemon = await aDaemon(world);
  await daemon.ran(1);
  await writeFile(join(directory, idOf(2)), "made up");
  await until(async () => (await readFile(join(directory, idOf(2)), "utf8")) !== "made up");
  await daemon.program.stop("SIGTERM");
  await expectBoth(world, directory);
});
