import { expect, test } from "vitest";
import { Slots } from "../../../src/adapters/token-stores/slots.ts";

/** Does so much work through the slots, and tells how much of it was under way at a time at most. */
async function mostAtOnce(slots: Slots, work: number): Promise<number> {
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

test("as many are under way as there are slots", async () => {
  expect(await mostAtOnce(new Slots(8), 30)).toBe(8);
});

test("after a halve there are half as many, at least one, and in time as many as at first", async () => {
  const slots = new Slots(8);
  slots.halve();
  expect(await mostAtOnce(slots, 10)).toBe(4);
  for (let times = 0; times < 5; times++) slots.halve();
  expect(await mostAtOnce(slots, 3)).toBe(1);
  await mostAtOnce(slots, 500);
  expect(await mostAtOnce(slots, 30)).toBe(8);
});

test("what fails gives its slot back", async () => {
  const slots = new Slots(1);
  await expect(slots.use(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect(await slots.use(async () => "next")).toBe("next");
});
