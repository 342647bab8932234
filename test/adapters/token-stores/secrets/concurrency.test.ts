import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { AdaptiveLimit, inParallel } from "../../../../src/adapters/token-stores/secrets/concurrency.ts";
import { rejection } from "../../../contracts/collect.ts";

/** Makes `work` calls, and returns how many ran at a time at most. */
async function mostAtOnce(slots: AdaptiveLimit, work: number): Promise<number> {
  let now = 0;
  let most = 0;
  const one = async (): Promise<void> => {
    most = Math.max(most, ++now);
    await new Promise(setImmediate);
    now--;
  };
  await Promise.all(Array.from({ length: work }, () => slots.use(one)));
  return most;
}

describe("AdaptiveLimit", () => {
  test("runs as many calls at a time as its limit", async () => {
    expect(await mostAtOnce(new AdaptiveLimit(8), 30)).toBe(8);
  });

  test("runs half as many after a halve, at least one, and in time as many as at first", async () => {
    const slots = new AdaptiveLimit(8);
    slots.halve();
    expect(await mostAtOnce(slots, 10)).toBe(4);
    for (let times = 0; times < 5; times++) slots.halve();
    expect(await mostAtOnce(slots, 3)).toBe(1);
    await mostAtOnce(slots, 500);
    expect(await mostAtOnce(slots, 30)).toBe(8);
  });

  test("a call that fails frees its slot", async () => {
    const slots = new AdaptiveLimit(1);
    await expect(slots.use(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(await slots.use(async () => "next")).toBe("next");
  });
});

describe("inParallel", () => {
  test("works on each item once, in order, and never on more at a time than allowed", async () => {
    const items = Array.from({ length: 20 }, (_, n) => n);
    const begun: number[] = [];
    let atWork = 0;
    let most = 0;
    await inParallel(items, 3, async (item) => {
      begun.push(item);
      most = Math.max(most, ++atWork);
      await turn();
      atWork--;
    });
    expect(begun).toEqual(items);
    expect(most).toBe(3);
  });

  test("calls nothing if there are no items", async () => {
    await inParallel([], 3, () => Promise.reject(new Error("for what?")));
  });

  test("fails with the first error, after the calls that had begun have ended, and begins no new ones", async () => {
    const begun: string[] = [];
    const ended: string[] = [];
    const work = async (item: string): Promise<void> => {
      begun.push(item);
      await turn();
      if (item === "b") throw new Error("the first");
      await turn();
      if (item === "c") throw new Error("the second");
      ended.push(item);
    };
    expect(await rejection(inParallel(["a", "b", "c", "d"], 3, work))).toMatchObject({
      message: "the first",
    });
    expect(begun).toEqual(["a", "b", "c"]);
    expect(ended).toEqual(["a"]);
  });

  test("fails with a rejection of undefined, too", async () => {
    expect(await rejection(inParallel(["a"], 1, () => Promise.reject(undefined)))).toBeUndefined();
  });
});
