import { expect, test } from "vitest";
import { expectInSync } from "../in-sync.ts";
import { aWorld, until, type World } from "../world.ts";
import { aDaemon, EVERY_SECOND } from "./a-daemon.ts";

const answered = async (world: World): Promise<number> => (await world.requests()).total;
const begun = async (world: World): Promise<number> => Object.keys((await world.requests()).by_group).length;

test("a daemon ends at once at a second signal, and at its shutdown_timeout otherwise; the next start settles what was under way", async () => {
  const world = await aWorld({
    tenants: 6,
    service: { latency: { min: 1_500, max: 1_500 } },
    config: { ...EVERY_SECOND, service: { concurrency: 2, timeout: "2s" } },
  });
  const first = await aDaemon(world);
  await until(async () => (await begun(world)) >= 1);
  first.program.child.kill("SIGTERM");
  await first.says("stopping: no new call starts");
  expect(await first.program.stop("SIGINT")).toMatchObject({ code: 1 });
  expect(first.program.output()).not.toContain("SHUTDOWN_TIMEOUT");

  await world.configure({ ...EVERY_SECOND, shutdown_timeout: "500ms", service: { timeout: "2s" } });
  const second = await aDaemon(world);
  const before = await begun(world);
  await until(async () => (await begun(world)) > before);
  expect(await second.program.stop("SIGTERM")).toMatchObject({ code: 1 });
  expect(second.lines().at(-1)).toMatchObject({ level: "error", code: "SHUTDOWN_TIMEOUT" });

  await world.serve({});
  const third = await aDaemon(world);
  await third.ran(1);
  await expectInSync(world);
});

test("a daemon that waits for its next scheduled time stops at once, even if its jitter is longer than its schedule's period", async () => {
  const world = await aWorld({ tenants: 1, config: { ...EVERY_SECOND, jitter: "1h" } });
  const idle = await aDaemon(world);
  await idle.ran(1);
  await until(async () => (await world.sessions()) === 0);
  expect((await idle.program.stop("SIGTERM")).code).toBe(0);
});

test("a second instance stands by, and takes over from a killed one without repeating calls that are recorded", async () => {
  const world = await aWorld({
    tenants: 100,
    service: { latency: { min: 300, max: 400 } },
    config: { ...EVERY_SECOND, service: { concurrency: 2, timeout: "1s" } },
  });
  const first = await aDaemon(world);
  await until(async () => (await answered(world)) >= 1);
  const standby = await aDaemon(world);
  await standby.says("another instance is at work");
  const waiting = await standby.page("/readyz");
  expect(waiting).toMatchObject({
    status: 503,
    text: expect.stringContaining("another instance holds the lease"),
  });
  expect((await standby.page("/")).text).toContain("another instance is at work");
  expect(first.runs()).toEqual([]);
  // It would ask for the lease every 15 seconds. Its successor asks at once.
  expect((await standby.program.stop("SIGTERM")).code).toBe(0);

  const second = await aDaemon(world);
  await first.program.stop("SIGKILL");
  const recorded = Object.keys(await world.stored());
  await world.serve({});
  await until(() => second.runs().some(({ outcome }) => outcome === "ok"));
  await expectInSync(world);
  const { by_group: after } = await world.requests();
  expect(recorded).not.toEqual([]);
  expect(recorded.filter((id) => after[id] !== undefined)).toEqual([]);
  expect((await second.program.stop("SIGTERM")).code).toBe(0);
});
