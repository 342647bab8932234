import { expect, test } from "vitest";
import { textOf } from "../../daemon/status-page/shown-page.ts";
import { lockTable } from "../../support/databases/table-lock.ts";
import { dump } from "../dump.ts";
import { aWorld, idOf, type World } from "../world.ts";
import { aDaemon, type RunningDaemon } from "./a-daemon.ts";

/** A daemon that has done its first sync, and does no other by itself. */
async function anIdleDaemon(tenants: number): Promise<{ world: World; daemon: RunningDaemon }> {
  const config = { schedule: "0 0 1 1 *", http: { listen: "127.0.0.1:0" } };
  const world = await aWorld({ tenants, config });
  const daemon = await aDaemon(world);
  await daemon.ran(1);
  return { world, daemon };
}

test("the page explains a tenant as the command does, sends nothing, changes nothing and shows no token", async () => {
  const { world, daemon } = await anIdleDaemon(2);
  const { query } = world.database;
  await query("UPDATE customers SET company_name = '<i>New' WHERE id = $1", [idOf(2)]);
  await query("INSERT INTO customers (id, company_name, warehouse) VALUES ('a/b é', 'Slash', NULL)");
  await world.forgetRequests();
  const untouched = await dump(world.database);

  const { status, text } = await daemon.page(`/?tenant=${idOf(1)}`);
  expect(status).toBe(200);
  expect(textOf(text)).toContain(
    `${idOf(1)}: in sync its group is as its row wants it If its token is refused all the same: `,
  );
  expect(textOf(text)).toContain("token stored yes");
  const changed = await daemon.page(`/?tenant=${idOf(2)}`);
  expect(changed.text).not.toContain("<i>");
  expect(textOf(changed.text)).toContain(
    `What helps: groupsync --config ${world.configFile} sync --only ${idOf(2)}`,
  );
  const rejected = await daemon.page("/?tenant=a%2Fb+%C3%A9");
  expect(textOf(rejected.text)).toContain("a/b é: rejected it gets no group, because its row is rejected");
  const unknown = await daemon.page("/?tenant=nobody");
  expect([unknown.status, textOf(unknown.text)]).toEqual([
    404,
    expect.stringContaining('neither the source nor the ledger has "nobody"'),
  ]);

  expect(await dump(world.database)).toEqual(untouched);
  expect((await world.requests()).total).toBe(0);
  const shown = [text, changed.text, rejected.text, unknown.text].join("");
  for (const token of await world.tokensEver()) expect(shown).not.toContain(token);
  expect((await daemon.program.stop("SIGTERM")).code).toBe(0);
});

test("a tenant is found by name, even while the source is away", async () => {
  const { world, daemon } = await anIdleDaemon(1);
  const { query } = world.database;
  const insert = "INSERT INTO customers (id, company_name, warehouse) VALUES ($1, $2, 'w')";
  await query(insert, [idOf(2), "Straße 100% GmbH"]);
  expect((await world.sync()).code).toBe(0);
  for (const isThere of [true, false]) {
    if (!isThere) await query("ALTER TABLE customers RENAME TO elsewhere");
    const { status, text } = await daemon.page("/?tenant=+strasse+100%25");
    expect(status).toBe(200);
    expect(textOf(text)).toContain("1 tenant whose id or name begins with");
    expect(text).toContain(`<a class="id" href="?tenant=${idOf(2)}">`);
    expect(textOf(text)).toContain(`${idOf(2)} Straße 100% GmbH in sync`);
  }
  expect((await daemon.program.stop("SIGTERM")).code).toBe(0);
});

test("a look doesn't wait for a lock for long, and reads no source that has no index", async () => {
  const { world, daemon } = await anIdleDaemon(1);
  const { query } = world.database;
  const lock = await lockTable(world.database, "customers");
  const slow = daemon.page(`/?tenant=${idOf(1)}`);
  expect((await slow).status).toBe(503);
  expect(textOf((await slow).text)).toContain(`${idOf(1)} can't be explained`);
  await lock.release();
  await expect
    .poll(async () => (await daemon.page(`/?tenant=${idOf(1)}`)).status, { timeout: 60_000, interval: 3_000 })
    .toBe(200);

  await query("CREATE TABLE others AS SELECT * FROM customers");
  await query("DROP TABLE customers");
  await query("ALTER TABLE others RENAME TO customers");
  const unindexed = await daemon.page(`/?tenant=${idOf(1)}`);
  expect(unindexed.status).toBe(503);
  expect(textOf(unindexed.text)).toContain("LOOKUPS_NOT_INDEXED: the database would read the whole source");
  expect((await daemon.program.stop("SIGTERM")).code).toBe(0);
});
