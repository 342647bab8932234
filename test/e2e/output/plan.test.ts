import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { freshDatabase } from "../../support/databases/fresh-database.ts";
import { dump } from "../dump.ts";
import { MAIN, startProcess } from "../program.ts";
import { withReader } from "../role.ts";
import { aWorld, type World } from "../world.ts";

/** One of everything that a plan can say. */
async function aWorldWithChanges(): Promise<World> {
  const world = await aWorld({ tenants: 6 });
  await world.configure(await withReader(world));
  expect((await world.sync()).code).toBe(0);
  const { query } = world.database;
  await query("UPDATE customers SET company_name = $1, plan = NULL WHERE id = 't-00002'", [
    "Renamed\u001b[2J",
  ]);
  await query("DELETE FROM customers WHERE id = 't-00003'");
  await query("UPDATE customers SET warehouse = NULL WHERE id = 't-00004'");
  await query("INSERT INTO customers (id, company_name, warehouse) VALUES ('ü-1', 'Größe & Söhne', 'w')");
  await world.forgetRequests();
  return world;
}

const AS_TEXT = `\
~ t-00002
    name: "Company 2" → "Renamed\\u001b[2J"
    properties.plan: "gold" → null
= t-00003  "Company 3"  its tenant is gone; deleted after another 24 h 0 min of absence
+ ü-1  "Größe & Söhne"
! t-00004  rejected: mapping.40 (column warehouse) is null

Plan: 1 to create, 1 to update, 0 to delete, 3 unchanged, 1 missing, 1 rejected.
`;

/** The end of AS_TEXT. MySQL's tables have no owners, and its schemas are its databases. */
const TABLES =
  /^Tables: tenants from (\w+)\.customers, tokens in \1\.groupsync_tokens( owned by \w+)?, ledger in \1\.groupsync_\*\.\n$/;

function expectAsText(printed: string): void {
  expect(printed.slice(0, AS_TEXT.length)).toBe(AS_TEXT);
  expect(printed.slice(AS_TEXT.length)).toMatch(TABLES);
}

test("changes nothing, and needs no ledger", async () => {
  const world = await aWorld({ database: await freshDatabase(), tenants: 3 });
  const untouched = await dump(world.database);
  expect(await world.run("plan")).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("3 to create"),
    stderr: "",
  });
  expect((await world.run("status")).stdout).toMatch(/^Nothing has been synced yet\./);
  expect(await dump(world.database)).toEqual(untouched);
  expect(await world.requests()).toMatchObject({ total: 0 });
});

const hasScript = spawnSync("script", ["--version"], { encoding: "utf8" }).stdout?.includes("util-linux");

test.runIf(hasScript)("on a terminal the text has colours, and is otherwise the same", async () => {
  const world = await aWorldWithChanges();
  const command = `'${process.execPath}' '${MAIN}' plan`;
  const terminal = startProcess("script", ["-qec", command, "/dev/null"], { ...world.env, TERM: "xterm" });
  const { code, stdout } = await terminal.ended;
  expect(code).toBe(0);
  expect(stdout).toContain("\u001b[32m+\u001b[39m ü-1");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with one
  expectAsText(stdout.replace(/\u001b\[\d+m/g, "").replaceAll("\r\n", "\n"));
});

test("a reader that stops early causes no error", async () => {
  const world = await aWorld({ tenants: 20_000 });
  const program = world.start("plan");
  await once(program.child.stdout!, "data");
  program.child.stdout!.destroy();
  expect(await program.ended).toMatchObject({ code: 0, signal: null, stderr: "" });
});
