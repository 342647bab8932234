import { mkdir, readdir, readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { expect, test } from "vitest";
import { freshDatabase } from "../../support/databases/fresh-database.ts";
import { listening } from "../../support/servers/listening.ts";
import { dump } from "../dump.ts";
import { withReader } from "../role.ts";
import { aWorld, type World } from "../world.ts";

interface Shown {
  readonly code: number | null;
  /** Sign, check and code of each finding, such as `✗ tokens CONFIG_TOKENS_OWNED`. */
  readonly found: readonly string[];
  readonly stdout: string;
}

async function check(world: World): Promise<Shown> {
  const { code, stdout, stderr } = await world.run("check");
  expect(stderr).toBe("");
  const found = [...stdout.matchAll(/^([✓!✗]) (\w+) +(?:([A-Z_]+): )?/gm)];
  return { code, stdout, found: found.map(([, ...parts]) => parts.filter((part) => part).join(" ")) };
}

/** Of these checks alone, what is not well. */
const problemsOf = ({ found }: Shown): string[] => found.filter((line) => !line.startsWith("✓"));

/** A world before its first sync. */
const aWorldToCheck = async (): Promise<World> => aWorld({ database: await freshDatabase(), tenants: 3 });

/** Everything outside of the program that it could have changed. */
const everything = async (world: World) => ({
  database: await dump(world.database),
  groups: await world.groups(),
  files: await filesBelow(world.folder),
});

/** Every file and folder, each file with its content. The sandbox's own are left out. */
async function filesBelow(folder: string): Promise<readonly unknown[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const ours = entries.filter(({ name }) => !name.startsWith("sandbox-state"));
  const contents = ours.map(async (entry) => {
    const path = join(entry.parentPath, entry.name);
    return [path, entry.isFile() ? await readFile(path, "utf8") : null];
  });
  return (await Promise.all(contents)).sort();
}

test("changes nothing, and finds all well before the first sync and after it, or a key that was revoked", async () => {
  const world = await aWorldToCheck();
  await world.configure(await withReader(world));
  const untouched = await everything(world);
  expect(await check(world)).toMatchObject({ code: 0 });
  expect(await everything(world)).toEqual(untouched);

  expect((await world.sync()).code).toBe(0);
  const synced = await everything(world);
  expect(problemsOf(await check(world))).toEqual([]);
  expect(await everything(world)).toEqual(synced);

  world.env.GROUPSYNC_API_KEY = "revoked";
  const refused = await check(world);
  expect(refused.code).toBe(1);
  expect(problemsOf(refused)).toEqual(["✗ service KEY_REFUSED"]);
});

test("looks at the customers' own column and a directory, and leaves both as they are", async () => {
  const directory = "tokens-of-mine";
  const world = await aWorldToCheck();
  await world.database.query("UPDATE customers SET dashboard_token = 'a token of before'");
  await world.configure({
    tokens: [
      {
        store: "table",
        table: "customers",
        id_column: "id",
        token_column: "dashboard_token",
        rows: "existing",
      },
      { store: "file", directory: join(world.folder, directory) },
    ],
  });
  await mkdir(join(world.folder, directory), { mode: 0o700 });
  const before = await everything(world);
  const shown = await check(world);
  expect(shown.stdout).toContain("column dashboard_token of the table customers can be used");
  expect(shown.stdout).toContain("tokens-of-mine can be used");
  expect(shown).toMatchObject({ code: 0 });
  expect(await everything(world)).toEqual(before);

  expect((await world.sync()).code).toBe(0);
  const synced = await everything(world);
  expect(await check(world)).toMatchObject({ code: 0 });
  expect(await everything(world)).toEqual(synced);
});

test("--notify sends a test to each address; nothing is sent without it", async () => {
  const heard: string[] = [];
  const server = createServer((request, response) => {
    heard.push(`${request.method} ${request.url}`);
    response.end();
  });
  const address = `http://127.0.0.1:${(await listening(server)).port}`;
  const world = await aWorld({
    config: { notify: { webhook: `${address}/hook`, heartbeat: `${address}/beat` } },
  });
  await world.run("check");
  expect(heard).toEqual([]);
  await world.run("check", "--notify");
  expect(heard.toSorted()).toEqual(["GET /beat", "POST /hook"]);
});
