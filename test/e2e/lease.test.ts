import { expect, test } from "vitest";
import { dump } from "./dump.ts";
import { aWorld, until, type World } from "./world.ts";

const slow = { latency: { min: 400, max: 600 } };
const counted = async (world: World) => (await world.requests()).total;

test("of two syncs with the same name one does the work, and the other says so", async () => {
  const world = await aWorld({ tenants: 400, service: slow, config: { service: { timeout: "2s" } } });
  const first = world.start("sync");
  await until(async () => (await counted(world)) > 0);

  const second = await world.run("sync");
  expect(second.code).toBe(5);
  expect(second.stdout).toMatch(/^The sync failed: another instance is at work: \S+ pid \d+ /);
  const waited = await world.sync("--only", "t-00001");
  expect(waited.report).toMatchObject({ outcome: "failed", errors: [{ code: "LEASE_HELD" }] });
  expect(first.child.exitCode).toBeNull();
  expect((await world.requests()).by_group["t-00001"]).toMatchObject({ GET: 1 });

  // Told to stop, it gives the lease back at once.
  expect((await first.stop("SIGTERM")).code).toBe(1);
  await world.serve({});
  expect((await world.sync()).code).toBe(0);
  expect(await world.stored()).toEqual(await world.live());
});

test("a sync that waits for the lease can be told to stop", async () => {
  const world = await aWorld({ tenants: 20, service: slow });
  const first = world.start("sync");
  await until(async () => (await counted(world)) > 0);
  first.child.kill("SIGSTOP");
  const sessions = await world.sessions();
  const waiting = world.start("sync", "--json");
  await until(async () => (await world.sessions()) > sessions);
  const { code, stdout, stderr } = await waiting.stop("SIGTERM");
  expect(code).toBe(1);
  expect(JSON.parse(stderr)).toMatchObject({ level: "info", outcome: "failed", code: "INTERRUPTED" });
  expect(JSON.parse(stdout)).toMatchObject({ outcome: "failed", errors: [{ code: "INTERRUPTED" }] });
});

test("syncs with different names work beside each other on the same ledger", async () => {
  const world = await aWorld({ tenants: 400 });
  const other = await aWorld({ tenants: 0 });
  const half = (name: string, comparison: string): Parameters<World["configure"]>[0] => ({
    name,
    source: { where: `id ${comparison} 't-00200'` },
  });
  await world.configure(half("lower", "<="));
  await other.configure({
    ...half("upper", ">"),
    service: { base_url: world.sandbox.baseUrl },
    tokens: { table: "upper_tokens" },
  });
  other.env.DATABASE_URL = world.database.url;
  other.env.GROUPSYNC_API_KEY = world.sandbox.apiKey;

  const both = await Promise.all([world.sync(), other.sync()]);
  for (const { code, report } of both) {
    expect({ code, ...report }).toMatchObject({ code: 0, outcome: "ok", created: 200 });
  }
  expect(Object.keys(await world.live())).toHaveLength(400);
  const upper = await world.database.query("SELECT user_group_id AS id, token FROM upper_tokens");
  const tokensOfUpper = Object.fromEntries(upper.map(({ id, token }) => [id, token]));
  expect({ ...(await world.stored()), ...tokensOfUpper }).toEqual(await world.live());
  expect(await world.database.query("SELECT scope FROM groupsync_leases ORDER BY scope")).toEqual([
    { scope: "lower" },
    { scope: "upper" },
  ]);
});

test("a sync that has lost its lease ends at once, however long the service has asked it to wait", async () => {
  const world = await aWorld({
    tenants: 20,
    service: { rateLimit: { count: 10, perMs: 3_600_000 } },
    config: { service: { timeout: "1s" } },
  });
  const program = world.start("sync", "--json");
  await until(() => program.output().includes("waits"));
  // What was answered before that may still be on its way into the database.
  await until(async () => Object.keys(await world.stored()).length === 10);
  await world.database.query("UPDATE groupsync_leases SET epoch = epoch + 1");
  const { code, stdout } = await program.ended;
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({ created: 10, errors: [{ code: "LEASE_LOST" }] });
  expect(await world.stored()).toEqual(await world.live());
});

test("SIGTERM lets the calls under way be recorded, and the next sync asks for the rest", async () => {
  const world = await aWorld({ tenants: 300, service: { latency: { min: 30, max: 60 } } });
  const program = world.start("sync", "--json");
  await until(async () => (await counted(world)) > 50);
  const { code, stdout } = await program.stop("SIGTERM");
  expect(code).toBe(1);
  const report = JSON.parse(stdout);
  expect(report).toMatchObject({ outcome: "failed", failed: 0, errors: [{ code: "INTERRUPTED" }] });
  expect(report.created).toBe(await counted(world));
  expect(await world.stored()).toEqual(await world.live());
  const status = JSON.parse((await world.run("status", "--json")).stdout);
  expect(status).toMatchObject({
    lease: null,
    groups: { total: report.created, under_way: 0 },
    runs: [{ outcome: "failed", created: report.created, error: { code: "INTERRUPTED" } }],
  });

  const next = await world.sync();
  expect(next.code).toBe(0);
  expect(next.report).toMatchObject({ created: 300 - report.created, unchanged: report.created });
  expect(await counted(world)).toBe(300);
  expect(await world.stored()).toEqual(await world.live());
});

test("one that was stopped, lost its lease and goes on writes nothing more", async () => {
  const world = await aWorld({
    tenants: 40,
    service: { latency: { min: 500, max: 500 } },
    config: { service: { timeout: "1s" } },
  });
  const paused = world.start("sync", "--json");
  // The first group is recorded, and the next are under way.
  await until(async () => (await world.requests()).max_in_flight > 1);
  await until(async () => Object.keys(await world.stored()).length === 1);
  paused.child.kill("SIGSTOP");

  // It waits until the lease has run out: 2 × service.timeout + 15 s.
  expect(await world.sync()).toMatchObject({ code: 0, report: { outcome: "ok" } });
  const tables = ["groupsync_tokens", "groupsync_groups", "groupsync_leases", "groupsync_services"];
  const everything = async () => {
    const contents = await dump(world.database);
    return tables.map((table) => contents[table]);
  };
  const before = await everything();
  const requests = await counted(world);

  paused.child.kill("SIGCONT");
  const { code, stdout } = await paused.ended;
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({ outcome: "failed", errors: [{ code: "LEASE_LOST" }] });
  expect(await everything()).toEqual(before);
  expect(await counted(world)).toBe(requests);
  expect(await world.stored()).toEqual(await world.live());
});
