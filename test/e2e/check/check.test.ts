import { mkdir, readdir, readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { expect, test } from "vitest";
import { freshDatabase } from "../../support/databases/fresh-database.ts";
import { aRole } from "../../support/databases/role.ts";
import { listening } from "../../support/servers/listening.ts";
import { dump } from "../dump.ts";
import { asRole, withReader } from "../role.ts";
import { aWorld, fromEnvironment, type World, type WorldOptions } from "../world.ts";

interface Shown {
  readonly code: number | null;
  /** Sign, check and code of each finding, such as `✗ tokens CONFIG_TOKENS_OWNED`. */
  readonly found: readonly string[];
  readonly stdout: string;
}

async function check(world: World, ...args: string[]): Promise<Shown> {
  const { code, stdout, stderr } = await world.run("check", ...args);
  expect(stderr).toBe("");
  const found = [...stdout.matchAll(/^([✓!✗]) (\w+) +(?:([A-Z_]+): )?/gm)];
  return { code, stdout, found: found.map(([, ...parts]) => parts.filter((part) => part).join(" ")) };
}

/** Of these checks alone, what is not well. */
const problemsOf = ({ found }: Shown): string[] => found.filter((line) => !line.startsWith("✓"));

/** A world before its first sync. */
const aWorldToCheck = async (options: WorldOptions = {}): Promise<World> =>
  aWorld({ database: await freshDatabase(), tenants: 3, ...options });

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

test("changes nothing, and finds all well, before the first sync and after it", async () => {
  const world = await aWorldToCheck();
  await world.configure(await withReader(world));
  const untouched = await everything(world);
  expect(await check(world)).toMatchObject({ code: 0 });
  expect(await everything(world)).toEqual(untouched);

  expect((await world.sync()).code).toBe(0);
  const synced = await everything(world);
  expect(problemsOf(await check(world))).toEqual([]);
  expect(await everything(world)).toEqual(synced);
});

test("finds the rights that a role lacks for ledger and tokens, all at once, with their grants", async () => {
  const world = await aWorldToCheck();
  await asRole(world);
  const before = await everything(world);
  const shown = await check(world);
  expect(shown.code).toBe(1);
  expect(problemsOf(shown)).toEqual(
    expect.arrayContaining([
      "✗ source SOURCE_UNAVAILABLE",
      "✗ ledger LEDGER_UNAVAILABLE",
      "✗ tokens TOKEN_STORE_UNAVAILABLE",
    ]),
  );
  expect(shown.stdout).toMatch(/GRANT SELECT ON \S*customers/);
  expect(shown.stdout).toMatch(/GRANT .*CREATE/);
  expect(await everything(world)).toEqual(before);
});

test("finds that a user may have fewer connections at once than a sync uses", async () => {
  const world = await aWorldToCheck();
  const config = await withReader(world);
  const { name, url } = await aRole(world.database);
  const { kind, query } = world.database;
  world.env.OWN_URL = url;
  await query(
    kind === "postgres"
      ? `ALTER ROLE ${name} CONNECTION LIMIT 1; GRANT CREATE ON SCHEMA public TO ${name}`
      : `ALTER USER ${name} WITH MAX_USER_CONNECTIONS 1`,
  );
  if (kind === "mysql") await query(`GRANT ALL ON ${world.database.name}.* TO ${name}`);
  const own = { url: fromEnvironment("OWN_URL") };
  await world.configure({ ...config, tokens: own, ledger: own });
  const shown = await check(world);
  expect(shown.code).toBe(1);
  expect(problemsOf(shown)).toEqual(["✗ connections LEDGER_UNAVAILABLE"]);
  expect(shown.stdout).toContain(
    "groupsync uses 3 connections at once and gets 2; for the ledger a second time",
  );
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

test("finds a revoked key, and never asks for a group with a good one", async () => {
  const world = await aWorldToCheck();
  await world.forgetRequests();
  const found = (await check(world)).found.filter((line) => line.includes("service"));
  expect(found).toEqual(["✓ service", "✓ service", "✓ service"]);
  const { by_operation } = await world.requests();
  expect(by_operation).toMatchObject({ GET: { 401: 1 }, DELETE: {} });

  world.env.GROUPSYNC_API_KEY = "revoked";
  const shown = await check(world);
  expect(shown).toMatchObject({ code: 1 });
  expect(problemsOf(shown)).toEqual(["✗ service KEY_REFUSED"]);
  expect(shown.stdout).toContain("check service.api_key");
  expect(await world.groups()).toEqual([]);
});

test("--notify sends a test, and finds a receiver that refuses it, without its address", async () => {
  const heard: string[] = [];
  const server = createServer((request, response) => {
    heard.push(`${request.method} ${request.url}`);
    response.writeHead(request.method === "POST" ? 404 : 200).end();
  });
  const { port } = await listening(server);
  const address = `http://127.0.0.1:${port}`;
  const notify = { webhook: `${address}/hook-secret`, heartbeat: `${address}/beat-secret` };
  const world = await aWorldToCheck({ config: { notify } });
  expect(problemsOf(await check(world))).not.toContain("✗ notify NOTIFY_FAILED");
  expect(heard).toEqual([]);

  const shown = await check(world, "--notify");
  expect(shown).toMatchObject({ code: 1 });
  expect(problemsOf(shown)).toEqual(["✗ notify NOTIFY_FAILED"]);
  expect(shown.stdout).not.toContain("-secret");
  expect(new Set(heard)).toEqual(new Set(["POST /hook-secret", "GET /beat-secret"]));
});
