import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { aDaemon, EVERY_SECOND } from "../daemon/a-daemon.ts";
import { aWorld, until } from "../world.ts";

const TABLE = { table: "groupsync_tokens" };

async function filesIn(directory: string): Promise<Record<string, string>> {
  const names = (await readdir(directory)).filter((name) => name !== ".groupsync");
  const entries = names.map(
    async (name): Promise<[string, string]> => [name, await readFile(join(directory, name), "utf8")],
  );
  return Object.fromEntries(await Promise.all(entries));
}

test("the next sync copies all tokens into an added store; if all stores change, it asks the service for the tokens", async () => {
  const world = await aWorld({ tenants: 5 });
  expect(await world.sync()).toMatchObject({ code: 0, report: { created: 5 } });
  const directory = join(world.folder, "tokens");
  await world.configure({ tokens: [TABLE, { store: "file", directory }] });
  const added = await world.sync();
  expect(added).toMatchObject({ code: 0, report: { restored: 5, unchanged: 5, requests: 0 } });
  expect(added.stderr).toMatch(
    /"code":"TOKENS_MOVED".*tokens went to table .* they go to file .* and to table /,
  );
  expect(await filesIn(directory)).toEqual(await world.live());

  await world.configure({ tokens: { store: "file", directory, path: "tenants/{{ user_group_id }}" } });
  const moved = await world.sync();
  expect(moved).toMatchObject({ code: 0, report: { restored: 5, updated: 0, unverified: 0, requests: 5 } });
  expect(await filesIn(join(directory, "tenants"))).toEqual(await world.live());
});

test("a daemon that reads a changed config does the same", async () => {
  const world = await aWorld({ tenants: 5, config: { ...EVERY_SECOND, tokens: TABLE } });
  const daemon = await aDaemon(world);
  // The second run looks whether the database still has what the first one committed.
  await daemon.ran(2);
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
