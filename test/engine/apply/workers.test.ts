import { describe, expect, it, onTestFinished } from "vitest";
import { work } from "../../../src/engine/apply/workers.ts";
import { VirtualClock, VirtualTime } from "../../fakes/virtual-time.ts";

const FOREVER = new AbortController().signal;

/**
 * Works through jobs that take a second each. A job whose name begins with "bad" fails, waits ten seconds, and fails again. Resolves to the times in seconds at which the jobs ended.
 */
async function ends(jobs: readonly string[], { concurrency = 1 } = {}): Promise<Record<string, number>> {
  const time = new VirtualTime();
  const left = [...jobs];
  const ended: Record<string, number> = {};
  await work({ clock: new VirtualClock(time), concurrency }, async (waitBeforeRetry) => {
    const job = left.shift();
    if (job === undefined) return false;
    await time.sleep(1_000);
    if (job.startsWith("bad")) {
      await waitBeforeRetry(10_000, FOREVER);
      await time.sleep(1_000);
    }
    ended[job] = time.elapsed / 1_000;
    return true;
  });
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

it("an error of a worker counts as handled while an earlier worker still works", async () => {
  const time = new VirtualTime();
  const unhandled: unknown[] = [];
  const note = (error: unknown): void => void unhandled.push(error);
  process.on("unhandledRejection", note);
  onTestFinished(() => void process.off("unhandledRejection", note));
  let started = 0;
  const working = work({ clock: new VirtualClock(time), concurrency: 2 }, async () => {
    if (started++ > 0) throw new Error("job 1");
    await time.sleep(1_000);
    // A rejection counts as unhandled once the event loop has turned.
    await new Promise(setImmediate);
    return false;
  });
  await expect(working).rejects.toThrow("job 1");
  expect(unhandled).toEqual([]);
});

it("all workers end before the first error is thrown", async () => {
  const time = new VirtualTime();
  let ended = 0;
  let started = 0;
  const working = work({ clock: new VirtualClock(time), concurrency: 3 }, async () => {
    const n = started++;
    await time.sleep(1_000 * (n + 1));
    ended++;
    if (n < 2) throw new Error(`job ${n}`);
    return false;
  });
  await expect(working).rejects.toThrow("job 0");
  expect(ended).toBe(3);
});
