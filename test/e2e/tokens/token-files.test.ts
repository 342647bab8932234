import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { aWorld, idOf } from "../world.ts";

test("each token has its own file, which is replaced and removed with the token", async () => {
  const world = await aWorld();
  const directory = join(world.folder, "tokens");
  await world.configure({ tokens: { store: "file", directory }, deletion: { grace_period: "0s" } });
  expect(await world.sync()).toMatchObject({ code: 0, report: { created: 5 } });
  expect(await tokensIn(directory)).toEqual(await world.live());
  expect((await stat(directory)).mode & 0o777).toBe(0o700);
  expect((await stat(join(directory, idOf(1)))).mode & 0o777).toBe(0o600);

  expect(await world.rotate("--only", idOf(2))).toMatchObject({ code: 0, report: { rotated: 1 } });
  await world.removeTenants(5, 5);
  expect(await world.sync()).toMatchObject({ code: 0, report: { deleted: 1, unchanged: 4 } });
  const live = await world.live();
  expect(Object.keys(live)).toEqual([1, 2, 3, 4].map(idOf));
  expect(await tokensIn(directory)).toEqual(live);
});

/** The tokens in the files, by the id that is the file's name. The ids in these tests need no encoding. */
async function tokensIn(directory: string): Promise<Record<string, string>> {
  const names = (await readdir(directory)).filter((name) => !name.startsWith(".")).sort();
  const entries = names.map(
    async (name): Promise<[string, string]> => [name, await readFile(join(directory, name), "utf8")],
  );
  return Object.fromEntries(await Promise.all(entries));
}
