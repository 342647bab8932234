import { describe, expect, it, vi } from "vitest";
import type { HeldDecision } from "../../../src/engine/lease/keys.ts";
import { Slots } from "../../../src/engine/loop/slots.ts";
import { Throttle } from "../../../src/engine/service/throttle.ts";
import { VirtualTime } from "../../fakes/virtual-time.ts";
import { tenants, World } from "../../fakes/world.ts";

/**
 * Works through jobs that take a second each. A job whose name begins with "bad" fails, waits ten seconds, and fails again.
 * Resolves to the times in seconds at which the jobs ended.
 */
async function ends(jobs: readonly string[], { concurrency = 1 } = {}): Promise<Record<string, number>> {
  const time = new VirtualTime();
  const slots = new Slots(() => concurrency);
  const ended: Record<string, number> = {};
  const work = async (job: string): Promise<void> => {
    const slot = await slots.enter({ isOutdated: false });
    await time.sleep(1_000);
    if (job.startsWith("bad")) {
      await slot?.whileWaiting(() => time.sleep(10_000));
      await time.sleep(1_000);
    }
    ended[job] = time.elapsed / 1_000;
    slot?.leave();
  };
  await Promise.all(jobs.map(work));
  return ended;
}

describe("a job that waits for a retry", () => {
  it("doesn't hold up the others", async () => {
    expect(await ends(["bad", "a", "b"])).toEqual({ a: 2, b: 3, bad: 12 });
    expect(await ends(["bad", "a", "b", "c"], { concurrency: 2 })).toEqual({ a: 1, b: 2, c: 2, bad: 12 });
  });

  it("works with no more than eight others that wait", async () => {
    const bad = Array.from({ length: 12 }, (_, n) => `bad ${n}`);
    const ended = await ends([...bad, "a"]);
    // The ninth keeps the only place until its own retry is over.
    expect(ended).toMatchObject({ "bad 8": 20, a: 24 });
  });
});

it("whoever waits goes away once the slots are closed, or the job is outdated", async () => {
  const slots = new Slots(() => 1);
  const first = await slots.enter({ isOutdated: false });
  const outdated: HeldDecision = { isOutdated: false };
  const [second, third] = [slots.enter(outdated), slots.enter({ isOutdated: false })];
  outdated.onOutdated?.();
  expect(await second).toBeUndefined();
  slots.close();
  expect([await third, await slots.enter({ isOutdated: false })]).toEqual([undefined, undefined]);
  expect(slots.isIdle).toBe(false);
  first?.leave();
  expect(slots.isIdle).toBe(true);
});

it("once all turns are over, their signal aborts: until then Node.js would keep all that listens to it", async () => {
  const ready = vi.spyOn(Throttle.prototype, "ready");
  await new World(tenants("a", "b")).sync();
  const signals = ready.mock.calls.map(([signal]) => signal);
  ready.mockRestore();
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
});
