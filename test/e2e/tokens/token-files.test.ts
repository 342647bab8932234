import { chmod, mkdir, readdir, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { seededRandom } from "../../../src/sandbox/request-faults.ts";
import { SEED, SEEDED } from "../../support/databases/seed.ts";
import { rounds } from "../../support/long.ts";
import { untilQuiet } from "../quiet.ts";
import { aWorld, idOf, until, type World, type WorldOptions } from "../world.ts";
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

const KILLS = rounds(10);
const TENANTS = 100;

test(`every stored token is live after ${KILLS} kill(s) of a first sync and ${KILLS} of a rotation ${SEEDED}`, async () => {
  const random = seededRandom(SEED);
  const { world, directory } = await aWorldOfFiles({
    tenants: TENANTS * KILLS,
    // Slow enough for calls to be under way at each kill.
    service: { latency: { min: 5, max: 20 } },
    // Each run waits this long for the calls of the killed run before it.
    config: { service: { timeout: "1s" }, rotation: { concurrency: 16 } },
  });
  const killed = async (...command: string[]): Promise<void> => {
    const { total } = await world.requests();
    const program = world.start(...command);
    const more = Math.ceil((random() * TENANTS) / 2);
    await until(
      async () => program.child.exitCode !== null || (await world.requests()).total >= total + more,
    );
    await sleep(random() * 20);
    await program.stop("SIGKILL");
    await untilQuiet(world);
  };
  for (let kill = 1; kill <= KILLS; kill++) {
    await killed("sync");
    await expectNoneOfAnotherGroup(world, directory);
  }
  expect(await world.sync()).toMatchObject({ code: 0, report: { failed: 0, adopted: 0 } });
  expect(await tokensIn(directory)).toEqual(await world.live());

  for (let kill = 1; kill <= KILLS; kill++) {
    await killed("rotate", "--all", "--yes");
    // One clean sync does what the killed rotation left.
    expect(await world.sync()).toMatchObject({ code: 0, report: { failed: 0, wanted: 0 } });
    expect(await tokensIn(directory)).toEqual(await world.live());
  }
});

/** Expects that no stored token is the live token of another group. A stored token may be older than the live token. */
async function expectNoneOfAnotherGroup(world: World, directory: string): Promise<void> {
  const live = Object.entries(await world.live());
  const owner = new Map(live.map(([id, token]) => [token, id]));
  for (const [id, token] of Object.entries(await tokensIn(directory)))
    expect(owner.get(token) ?? id).toBe(id);
}
