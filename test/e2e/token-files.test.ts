import { chmod, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { seededRandom } from "../../src/sandbox/faults.ts";
import { rounds } from "../support/long.ts";
import { SEED, SEEDED } from "../support/seed.ts";
import { untilQuiet } from "./quiet.ts";
import { aWorld, idOf, until, type World, type WorldOptions } from "./world.ts";

/** A world whose tokens go into files. */
async function aWorldOfFiles(options: WorldOptions = {}, keys: Readonly<Record<string, string>> = {}) {
  const world = await aWorld(options);
  const directory = join(world.folder, "tokens");
  await world.configure({ ...options.config, tokens: { store: "file", directory, ...keys } });
  return { world, directory };
}

/** By the id that is the file's name; ids here need no encoding. */
async function tokensIn(directory: string): Promise<Record<string, string>> {
  const names = (await readdir(directory)).filter((name) => !name.startsWith(".")).sort();
  const entries = names.map(
    async (name): Promise<[string, string]> => [name, await readFile(join(directory, name), "utf8")],
  );
  return Object.fromEntries(await Promise.all(entries));
}

test("each token has a file of its own, which follows its group to the end", async () => {
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
  expect(await world.sync()).toMatchObject({ code: 0, report: { unchanged: 4, requests: 0 } });
});

test("as JSON a file says whose token it is and when it was written, and odd ids have files of their own", async () => {
  const { world, directory } = await aWorldOfFiles({ tenants: 0 }, { format: "json" });
  await world.database.query(
    "INSERT INTO customers (id, company_name, warehouse) VALUES ('a/../b', 'One', 'w'), ('A', 'Two', 'w'), ('.groupsync', 'Three', 'w')",
  );
  expect(await world.sync()).toMatchObject({ code: 0, report: { created: 3 } });
  expect((await readdir(directory)).sort()).toEqual(["%2Egroupsync", ".groupsync", "A", "a%2F%2E%2E%2Fb"]);
  expect(JSON.parse(await readFile(join(directory, "a%2F%2E%2E%2Fb"), "utf8"))).toEqual({
    user_group_id: "a/../b",
    token: (await world.live())["a/../b"],
    rotated_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
  });
});

test("a directory with other files in it is refused before anything is asked, and nothing in it is touched", async () => {
  const { world, directory } = await aWorldOfFiles({ tenants: 2 });
  await world.configure({ tokens: { store: "file", directory: world.folder } });
  await writeFile(join(world.folder, "notes"), "mine");
  const { code, report } = await world.sync();
  expect(code).toBe(1);
  expect(report.errors).toMatchObject([
    {
      code: "TOKEN_STORE_UNAVAILABLE",
      message: expect.stringContaining("files that groupsync hasn't written"),
    },
  ]);
  expect(await readFile(join(world.folder, "notes"), "utf8")).toBe("mine");
  expect(await world.requests()).toMatchObject({ total: 0 });
  await expect(readdir(directory)).rejects.toThrow("ENOENT");
});

test("a directory that others may write is refused before anything in it is touched, with what mends it", async () => {
  const { world, directory } = await aWorldOfFiles({ tenants: 2 });
  const target = join(world.folder, "target");
  await mkdir(target);
  await writeFile(join(target, "precious"), "theirs");
  await mkdir(directory);
  await chmod(directory, 0o777);
  await symlink(target, join(directory, ".groupsync"));

  const plan = await world.run("plan");
  expect(plan).toMatchObject({ code: 78, stdout: expect.stringContaining(`chmod go-w '${directory}'`) });
  const { code, report } = await world.sync();
  expect({ code, errors: report.errors }).toMatchObject({
    code: 78,
    errors: [{ code: "CONFIG_DIRECTORY_UNSAFE", message: expect.stringContaining("(mode 0777)") }],
  });
  expect(await readdir(target)).toEqual(["precious"]);
  expect(await world.requests()).toMatchObject({ total: 0 });

  await chmod(directory, 0o755);
  expect(await world.sync()).toMatchObject({ code: 78 });
  await rm(join(directory, ".groupsync"));
  expect(await world.sync()).toMatchObject({ code: 0, report: { created: 2 } });
  expect(await tokensIn(directory)).toEqual(await world.live());
});

test("a link in place of the owner's mark tells nothing of the file that it leads to", async () => {
  const { world, directory } = await aWorldOfFiles({ tenants: 1 });
  await mkdir(join(directory, ".groupsync"), { recursive: true });
  const key = join(world.folder, "key");
  await writeFile(key, "the-key-of-another-program", { mode: 0o600 });
  await symlink(key, join(directory, ".groupsync/name"));
  for (const command of ["plan", "sync"]) {
    const { code, stdout, stderr } = await world.run(command);
    expect(code).toBe(78);
    expect(stdout + stderr).not.toContain("the-key-of-another-program");
  }
  expect(await world.requests()).toMatchObject({ total: 0 });
});

test("a volume that a group may write is taken once the config says so", async () => {
  const { world, directory } = await aWorldOfFiles({ tenants: 2 });
  await mkdir(directory);
  await chmod(directory, 0o2770);
  expect(await world.sync()).toMatchObject({ code: 78 });
  await world.configure({ tokens: { store: "file", directory, shared_directory: true } });
  expect(await world.sync()).toMatchObject({ code: 0, report: { created: 2 } });
  expect(await tokensIn(directory)).toEqual(await world.live());
});

const KILLS = rounds(15);
const TENANTS = 100;

test(`${KILLS} kills in a first sync, and ${KILLS} in a rotation: every stored token is live in the end ${SEEDED}`, async () => {
  const random = seededRandom(SEED);
  const { world, directory } = await aWorldOfFiles({
    tenants: TENANTS * KILLS,
    service: { latency: { min: 1, max: 6 } },
    // So long does each run wait for the calls of the one that was killed before it.
    config: { service: { timeout: "1s" } },
  });
  const killed = async (...command: string[]): Promise<void> => {
    const { total } = await world.requests();
    const program = world.start(...command);
    const more = Math.ceil(random() * TENANTS);
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
    await killed("rotate", "--all");
    // One clean sync makes good what the killed one has left.
    expect(await world.sync()).toMatchObject({ code: 0, report: { failed: 0, rotated: 0 } });
    expect(await tokensIn(directory)).toEqual(await world.live());
  }
}, 360_000);

/** What is stored may be older than what is live, and is nobody else's. */
async function expectNoneOfAnotherGroup(world: World, directory: string): Promise<void> {
  const live = Object.entries(await world.live());
  const owner = new Map(live.map(([id, token]) => [token, id]));
  for (const [id, token] of Object.entries(await tokensIn(directory)))
    expect(owner.get(token) ?? id).toBe(id);
}
