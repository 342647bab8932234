import { expect, test } from "vitest";
import { LONG } from "../../support/long.ts";
import { dump } from "../dump.ts";
import { aWorld, until, type World } from "../world.ts";

const quantity = async (world: World) => (await world.requests()).total;
const storedIds = async (world: World) => Object.keys(await world.stored());

test("while a sync works, others report the lease's holder or can be told to stop; if it loses its lease, it ends at once, even in a long wait", async () => {
  const world = await aWorld({
    tenants: 20,
    service: { rateLimit: { count: 10, perMs: 3_600_000 } },
    config: { service: { timeout: "1s" } },
  });
  const first = world.start("sync", "--json");
  await until(() => first.output().includes("waits"));
  // Outcomes of calls answered before may still be on their way into the database.
  await until(async () => (await storedIds(world)).length === 10);
  const requests = await quantity(world);

  // While it stands still, it opens and closes no session.
  first.child.kill("SIGSTOP");
  const sessions = await world.sessions();
  const waiting = world.start("sync", "--json");
  await until(async () => (await world.sessions()) > sessions);
  const stopped = await waiting.stop("SIGTERM");
  first.child.kill("SIGCONT");
  expect(stopped.code).toBe(1);
  // On a slow machine a line before says that the holder has stopped renewing the lease.
  const lastLine = stopped.stderr.trimEnd().split("\n").at(-1) ?? "";
  expect(JSON.parse(lastLine)).toMatchObject({ level: "info", outcome: "failed", code: "INTERRUPTED" });
  expect(JSON.parse(stopped.stdout)).toMatchObject({ outcome: "failed", errors: [{ code: "INTERRUPTED" }] });

  const [second, third] = await Promise.all([world.run("sync"), world.sync("--only", "t-00001")]);
  expect(second.code).toBe(5);
  expect(second.stdout).toMatch(/^The sync failed: another instance is at work: \S+ pid \d+ /);
  expect(third).toMatchObject({ code: 5, report: { outcome: "failed", errors: [{ code: "LEASE_HELD" }] } });
  expect(first.child.exitCode).toBeNull();
  expect(await quantity(world)).toBe(requests);

  await world.database.query("UPDATE groupsync_leases SET epoch = epoch + 1, writes_before = writes");
  const { code, stdout } = await first.ended;
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({ created: 10, errors: [{ code: "LEASE_LOST" }] });
  expect(await world.stored()).toEqual(await world.live());
});

test("a sync that was paused and lost its lease writes nothing after it continues", async () => {
  const world = await aWorld({
    tenants: 6,
    service: { latency: { min: 1_500, max: 1_500 } },
    // Longer than the pause: answers that came meanwhile are taken, and would be recorded.
    config: { service: { timeout: "5s" } },
  });
  const paused = world.start("sync", "--json");
  // The first group is recorded, and the next are under way.
  await until(async () => (await world.requests()).max_in_flight > 1);
  await until(async () => (await storedIds(world)).length > 0);
  paused.child.kill("SIGSTOP");
  expect(await storedIds(world)).toHaveLength(1);

  // The lease lasts for 2 × service.timeout + 15 s. A long run waits for its end.
  if (!LONG)
    await world.database.query("UPDATE groupsync_leases SET expires_at = expires_at - INTERVAL '1' MINUTE");
  expect(await world.sync()).toMatchObject({ code: 0, report: { outcome: "ok" } });
  const tables = ["groupsync_tokens", "groupsync_groups", "groupsync_leases", "groupsync_scopes"];
  const everything = async () => {
    const contents = await dump(world.database);
    return tables.map((table) => contents[table]);
  };
  const before = await everything();
  const requests = await quantity(world);

  paused.child.kill("SIGCONT");
  const { code, stdout } = await paused.ended;
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({ outcome: "failed", errors: [{ code: "LEASE_LOST" }] });
  expect(await everything()).toEqual(before);
  // Before the lease has ended by its own clock, the paused sync may send a call that it records nowhere.
  if (LONG) expect(await quantity(world)).toBe(requests);
  expect(await world.stored()).toEqual(await world.live());
});
