import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { inParallel } from "../../../src/adapters/token-stores/in-parallel.ts";
import { rejection } from "../../contracts/collect.ts";

test("works on each item once, in their order, on so many at a time and no more", async () => {
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

test("has nothing to do with no items", async () => {
  await inParallel([], 3, () => Promise.reject(new Error("for what?")));
});

test("fails with the first error, and begins nothing after it, but ends what it has begun", async () => {
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
  expect(await rejection(inParallel(["a", "b", "c", "d"], 3, work))).toMatchObject({ message: "the first" });
  expect(begun).toEqual(["a", "b", "c"]);
  expect(ended).toEqual(["a"]);
});

test("fails also with what isn't an error", async () => {
  expect(await rejection(inParallel(["a"], 1, () => Promise.reject(undefined)))).toBeUndefined();
});
