import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { dump } from "../dump.ts";
import { aWorld, type World } from "../world.ts";

// biome-ignore lint/suspicious/noExplicitAny: what the program printed
const explain = async (world: World, id: string): Promise<any> => {
  const { code, stdout, stderr } = await world.run("explain", "--json", "--", id);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return JSON.parse(stdout);
};

const WHEN = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g;
const HASH = /[\w-]{43}/g;

/** What `explain` prints, with placeholders for what differs from run to run. */
async function page(world: World, id: string): Promise<string> {
  const { code, stdout, stderr } = await world.run("explain", id);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout
    .replaceAll(WHEN, "TIME")
    .replaceAll(HASH, "HASH")
    .replace(/, for .*$/m, ", for A WHILE")
    .replace(/(goes to table) .*$/m, "$1 …")
    .replace(/^( {2}(?:in|none in) )\w+\.customers$/m, "$1customers");
}

test("explains a tenant in sync, a changed, a rejected, a missing and a new one, and changes nothing", async () => {
  const world = await aWorld({ tenants: 5, config: { source: { ready_when: "id <> 't-00005'" } } });
  await world.sync();
  const { query } = world.database;
  await query("UPDATE customers SET company_name = $1, plan = NULL WHERE id = 't-00002'", ["New\u001b[2J"]);
  await query("UPDATE customers SET warehouse = NULL WHERE id = 't-00003'");
  await query("DELETE FROM customers WHERE id = 't-00004'");
  await query("INSERT INTO customers (id, company_name, warehouse) VALUES ('ü-1', 'Größe', 'w')");
  await world.forgetRequests();
  const untouched = await dump(world.database);

  expect(await page(world, "t-00001")).toBe(`\
t-00001: in sync
  its group is as its row wants it

Row
  in customers
  id            "t-00001"
  company_name  "Company 1"
  warehouse     "warehouse-1"
  plan          "gold"

Group
    name             "Company 1"
    mapping.40       "warehouse-1"
    properties.plan  "gold"
  the service was last asked for it at TIME

Token
  hash HASH
  live since TIME, for A WHILE
  goes to table …
  stored: yes, the token with this hash

History
  TIME  first recorded
  TIME  last answer to a change
`);
  const changed = await page(world, "t-00002");
  expect(changed).toContain("t-00002: changed\n");
  expect(changed).toContain("  what helps: groupsync sync --only t-00002\n");
  expect(changed).toContain('  ~ name             "New\\u001b[2J"  the service confirmed "Company 2"\n');
  expect(changed).toContain('  ~ properties.plan  null  the service confirmed "gold"\n');
  expect(changed).toContain('    mapping.40       "warehouse-2"\n');

  expect(await explain(world, "t-00003")).toMatchObject({
    state: "rejected",
    reason: expect.stringContaining("mapping.40 (column warehouse) is null"),
    rows: [{ id: "t-00003", warehouse: null }],
    desired: null,
    confirmed: { name: "Company 3" },
    next_sync: { action: "none" },
  });
  expect(await explain(world, "t-00004")).toMatchObject({
    state: "missing",
    rows: [],
    command: null,
    next_sync: { action: "none", delete_in_ms: 86_400_000 },
    token: { stored: "in every store" },
  });
  expect(await explain(world, "t-00005")).toMatchObject({
    state: "not_ready",
    rows: [{ id: "t-00005" }],
    next_sync: { action: "none" },
    token: { stored: "none known" },
  });
  expect(await explain(world, "ü-1")).toMatchObject({
    state: "new",
    command: "groupsync sync --only 'ü-1'",
    desired: { user_group_id: "ü-1", name: "Größe", mapping: { "40": "w" }, properties: { plan: null } },
    confirmed: null,
    next_sync: { action: "create" },
    token: { fingerprint: null, stored: "none known" },
  });

  expect(await dump(world.database)).toEqual(untouched);
  expect(await world.requests()).toMatchObject({ total: 0 });
});

test("does as a sync with --only does, if neither the source nor the ledger has the id", async () => {
  const world = await aWorld({ tenants: 1 });
  await world.sync();
  for (const id of ["T-00001", "", "no'such\u001b id", "x".repeat(600)]) {
    const explained = await world.run("explain", id);
    expect(explained).toMatchObject({ code: 64, stdout: "" });
    const [, reason] =
      /^groupsync: (neither the source nor the ledger has .*)$/m.exec(explained.stderr) ?? [];
    expect(reason).toBeDefined();
    const synced = await world.run("sync", "--only", id);
    expect(synced).toMatchObject({ code: 64, stdout: expect.stringContaining(String(reason)) });
  }
});

test("prints a command that a shell takes, whatever the id", async () => {
  const world = await aWorld({ tenants: 0 });
  const ids = ["it's", "-x", "a b", "$(reboot)", "tab\there", "per%cent", "ä\u202e!"];
  for (const id of ids) {
    await world.database.query("INSERT INTO customers (id, company_name, warehouse) VALUES ($1, 'x', 'w')", [
      id,
    ]);
    const { user_group_id, state, command } = await explain(world, id);
    expect({ user_group_id, state }).toEqual({ user_group_id: id, state: "new" });
    const asked = execFileSync("bash", ["-c", command.replace("groupsync", "printf '%s\\n'")]);
    expect(String(asked)).toBe(`sync\n--only\n${id}\n`);
  }
});

test("explains what is held, and has the code that approves it", async () => {
  const config = { deletion: { grace_period: "0", limit: { count: 0, percent: 0 } } };
  const world = await aWorld({ tenants: 4, config });
  await world.sync();
  await world.removeTenants(2, 3);
  expect(await explain(world, "t-00002")).toMatchObject({
    state: "deletion_due",
    next_sync: { action: "delete" },
  });
  expect((await world.sync()).code).toBe(4);
  const { held } = await world.status();
  expect(await explain(world, "t-00002")).toMatchObject({
    state: "held",
    held: { action: "delete", code: held.code },
    command: `groupsync sync --approve-deletions ${held.code}`,
    missing: { absence: "absent" },
  });

  await world.sync("--approve-deletions", held.code);
  const gone = await explain(world, "t-00002");
  expect(gone).toMatchObject({ state: "gone", rows: [], confirmed: null, token: { fingerprint: null } });
  expect(gone.history.removals).toMatchObject([{ action: "delete" }]);
  expect(gone.history.former_tokens).toHaveLength(1);
});

test("explains a failing tenant, and a token that somebody has taken out of the store", async () => {
  const world = await aWorld({ tenants: 2, service: { poison: new Map([["t-00002", "success0"]]) } });
  expect((await world.sync()).code).toBe(3);
  const failing = await explain(world, "t-00002");
  expect(failing).toMatchObject({ state: "failing", command: "groupsync sync --only t-00002" });
  expect(failing.failures).toMatchObject([
    { what: "change", code: "REFUSED", count: 1, message: expect.stringContaining("success is 0") },
  ]);

  await world.database.query("UPDATE groupsync_tokens SET token = 'x' WHERE user_group_id = 't-00001'");
  expect(await explain(world, "t-00001")).toMatchObject({
    state: "token_not_stored",
    token: { stored: "another token" },
    command: "groupsync sync --only t-00001",
  });
  await world.database.query("DELETE FROM groupsync_tokens");
  expect(await explain(world, "t-00001")).toMatchObject({ token: { stored: "no token" } });

  expect((await world.run("sync", "--only", "t-00001")).code).toBe(0);
  expect(await explain(world, "t-00001")).toMatchObject({ state: "in_sync" });
  expect((await world.rotate("--only", "t-00001")).code).toBe(0);
  const { token, history } = await explain(world, "t-00001");
  expect(history.former_tokens).toHaveLength(1);
  expect(history.former_tokens[0].fingerprint).not.toBe(token.fingerprint);
});
