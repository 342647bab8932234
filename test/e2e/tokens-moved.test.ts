import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { aDaemon, EVERY_SECOND } from "./a-daemon.ts";
import { aWorld, until, type World } from "./world.ts";

const TABLE = { table: "groupsync_tokens" };

const aWorldInSync = async (): Promise<World> => {
  const world = await aWorld({ tenants: 5 });
  expect(await world.sync()).toMatchObject({ code: 0, report: { created: 5 } });
  await world.forgetRequests();
  return world;
};

async function filesIn(directory: string): Promise<Record<string, string>> {
  const names = (await readdir(directory)).filter((name) => name !== ".groupsync");
  const entries = names.map(
    async (name): Promise<[string, string]> => [name, await readFile(join(directory, name), "utf8")],
  );
  return Object.fromEntries(await Promise.all(entries));
}

test("a store that is added is given every token by the next sync, from the one that has them", async () => {
  const world = await aWorldInSync();
  const directory = join(world.folder, "tokens");
  await world.configure({ tokens: [TABLE, { store: "file", directory }] });
  const moved = await world.sync();
  expect(moved).toMatchObject({ code: 0, report: { restored: 5, unchanged: 5, requests: 0 } });
  expect(moved.stderr).toMatch(
    /"code":"TOKENS_MOVED".*tokens went to table .* they go to file .* and to table /,
  );
  expect(await filesIn(directory)).toEqual(await world.live());
  const next = await world.sync();
  expect(next).toMatchObject({ code: 0, report: { restored: 0, requests: 0 } });
  expect(next.stderr).not.toContain("TOKENS_MOVED");
});

test("where all of them go somewhere else, or get another form, they are asked for", async () => {
  const world = await aWorldInSync();
  const directory = join(world.folder, "tokens");
  for (const keys of [{}, { format: "json" }, { path: "tenants/{{ user_group_id }}" }]) {
    await world.configure({ tokens: { store: "file", directory, ...keys } });
    expect(await world.sync()).toMatchObject({
      code: 0,
      report: { restored: 5, updated: 0, unverified: 0, requests: 5 },
    });
    expect(await world.sync()).toMatchObject({ code: 0, report: { unchanged: 5, requests: 0 } });
  }
  expect(await filesIn(join(directory, "tenants"))).toEqual(await world.live());
});

test("a daemon that reads another config does so, too", async () => {
  const world = await aWorldInSync();
  await world.configure({ ...EVERY_SECOND, tokens: TABLE });
  const daemon = await aDaemon(world);
  await daemon.ran(1);
  const directory = join(world.folder, "tokens");
  await world.configure({ ...EVERY_SECOND, tokens: [TABLE, { store: "file", directory }] });
  daemon.program.child.kill("SIGHUP");
  await until(() => daemon.runs().some(({ restored }) => restored > 0));
  await daemon.program.stop("SIGTERM");
  expect(daemon.runs().filter(({ restored }) => restored > 0)).toMatchObject([
    { outcome: "ok", restored: 5 },
  ]);
  expect(await filesIn(directory)).toEqual(await world.live());
});
