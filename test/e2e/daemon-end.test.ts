import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { aDaemon, EVERY_SECOND } from "./a-daemon.ts";
import { expectInSync } from "./in-sync.ts";
import { aWorld, until, type World } from "./world.ts";

const asked = async (world: World): Promise<number> => (await world.requests()).total;

test("SIGTERM in the middle of 500 slow calls: every answered token is stored, and it ends well", async () => {
  const world = await aWorld({
    tenants: 1_500,
    service: { latency: { min: 800, max: 1_200 } },
    config: { ...EVERY_SECOND, service: { concurrency: 500 } },
  });
  const daemon = await aDaemon(world);
  await until(async () => (await asked(world)) >= 500);
  const { code } = await daemon.program.stop("SIGTERM");
  expect(code).toBe(0);
  const stored = await world.stored();
  expect(stored).toEqual(await world.live());
  expect(Object.keys(stored)).toHaveLength(await asked(world));
  expect(daemon.runs()).toMatchObject([
    { level: "info", outcome: "failed", code: "INTERRUPTED", created: Object.keys(stored).length },
  ]);
  expect(await world.status()).toMatchObject({ lease: null, groups: { under_way: 0 } });
});

test("a second signal ends it at once, and the next start settles what was under way", async () => {
  const world = await aWorld({
    tenants: 40,
    service: { latency: { min: 1_500, max: 2_000 } },
    config: { ...EVERY_SECOND, service: { timeout: "4s" } },
  });
  const daemon = await aDaemon(world);
  await until(async () => (await asked(world)) >= 8);
  daemon.program.child.kill("SIGTERM");
  await daemon.says("told to stop");
  expect(await daemon.program.stop("SIGINT")).toMatchObject({ code: 1 });

  await world.serve({});
  const next = await aDaemon(world);
  await next.ran(1);
  await expectInSync(world);
});

test("calls that don't end in time are left behind, with a word, and the next start settles them", async () => {
  const world = await aWorld({
    tenants: 3,
    service: { latency: { min: 3_000, max: 3_000 } },
    config: { ...EVERY_SECOND, shutdown_timeout: "500ms", service: { concurrency: 1, timeout: "5s" } },
  });
  const daemon = await aDaemon(world);
  await until(async () => (await asked(world)) >= 1);
  // The sandbox counts what it has answered; the next call is under way once that is recorded.
  await sleep(1_000);
  const { code } = await daemon.program.stop("SIGTERM");
  expect(code).toBe(1);
  expect(daemon.lines().at(-1)).toMatchObject({ level: "error", code: "SHUTDOWN_TIMEOUT" });

  await world.serve({});
  const next = await aDaemon(world);
  await next.ran(1);
  await expectInSync(world);
});

test("one that waits for its next tick, or in standby for the lease, stops at once", async () => {
  const world = await aWorld({ tenants: 1, config: { ...EVERY_SECOND, schedule: "0 0 1 1 *" } });
  const idle = await aDaemon(world);
  await idle.ran(1);
  await until(async () => (await world.sessions()) === 0);
  expect((await idle.program.stop("SIGTERM")).code).toBe(0);
});

test("one whose ticks are put off for longer than they are apart stops at once, too", async () => {
  const world = await aWorld({ tenants: 1, config: { ...EVERY_SECOND, jitter: "1h" } });
  const daemon = await aDaemon(world);
  await daemon.ran(1);
  await sleep(3_000);
  expect((await daemon.program.stop("SIGTERM")).code).toBe(0);
});

test("a standby takes over from an instance that was killed, and asks for nothing that is recorded", async () => {
  const world = await aWorld({
    tenants: 400,
    service: { latency: { min: 300, max: 400 } },
    config: { ...EVERY_SECOND, service: { concurrency: 4, timeout: "1s" } },
  });
  const first = await aDaemon(world);
  await until(async () => (await asked(world)) >= 8);
  const second = await aDaemon(world);
  await second.says("another instance is at work");
  const waiting = await second.page("/readyz");
  expect(waiting).toMatchObject({
    status: 503,
    text: expect.stringContaining("another instance is at work"),
  });
  expect((await second.page("/")).text).toContain("another instance is at work");
  expect(first.runs()).toEqual([]);

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
