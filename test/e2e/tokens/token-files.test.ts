import { chmod, mkdir, readdir, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { aWorld, idOf, type WorldOptions } from "../world.ts";
import { tokensIn } from "./tokens-in.ts";

/** A world whose tokens go into files. */
async function aWorldOfFiles(options: WorldOptions = {}) {
  const world = await aWorld(options);
  const directory = join(world.folder, "tokens");
  await world.configure({ ...options.config, tokens: { store: "file", directory } });
  return { world, directory };
}

test("each token has its own file, which is replaced and removed with the token", async () => {
  const { world, directory } = await aWorldOfFiles({
    tenants: 5,
    config: { deletion: { grace_period: "0s" } },
  });
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

test("a directory that others may write to is refused unchanged, with the command that repairs it, and nothing of where their links lead is shown", async () => {
  const { world, directory } = await aWorldOfFiles({ tenants: 2 });
  const mark = join(directory, ".groupsync");
  const target = join(world.folder, "target");
  await mkdir(target);
  await writeFile(join(target, "name"), "the-key-of-another-program", { mode: 0o600 });
  await mkdir(directory);
  await chmod(directory, 0o777);
  await symlink(target, mark);

  const plan = await world.run("plan");
  expect(plan).toMatchObject({ code: 78, stdout: expect.stringContaining(`chmod go-w '${directory}'`) });
  const unsafe = await world.sync();
  expect(unsafe).toMatchObject({
    code: 78,
    report: {
      errors: [{ code: "CONFIG_DIRECTORY_UNSAFE", message: expect.stringContaining("(mode 0777)") }],
    },
  });
  expect(await readdir(target)).toEqual(["name"]);

  for (const { stdout, stderr } of [plan, unsafe])
    expect(stdout + stderr).not.toContain("the-key-of-another-program");
  expect(await world.requests()).toMatchObject({ total: 0 });

  await rm(mark);
  await chmod(directory, 0o2770);
  await world.configure({ tokens: { store: "file", directory, shared_directory: true } });
  expect(await world.sync()).toMatchObject({ code: 0, report: { created: 2 } });
  expect(await tokensIn(directory)).toEqual(await world.live());
});
