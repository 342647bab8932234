import { expect, test } from "vitest";
import { StaleReads } from "../../../../src/adapters/token-stores/secrets/stale-reads.ts";

const seenOf = (writes: StaleReads, name: string, versions: readonly (string | undefined)[]) =>
  versions.map((version) => writes.isStale(name, version));

test("an old version may still show after a write, or none, and not once the new one was seen", () => {
  const writes = new StaleReads();
  writes.add("a", "2");
  expect(seenOf(writes, "a", [undefined, "1", "2", "1", undefined])).toEqual([
    true,
    true,
    false,
    false,
    false,
  ]);
});

test("what shows again and again is somebody else's change", () => {
  const writes = new StaleReads();
  writes.add("a", "2");
  const seen = seenOf(writes, "a", Array(20).fill("3"));
  expect(seen[0]).toBe(true);
  expect(seen.at(-1)).toBe(false);
});

test("what wasn't written here, or is removed, shows as it is", () => {
  const writes = new StaleReads();
  expect(writes.isStale("a", "1")).toBe(false);
  writes.add("a", "2");
  writes.forget("a");
  expect(writes.isStale("a", undefined)).toBe(false);
});

test("the first of very many writes are forgotten", () => {
  const writes = new StaleReads();
  for (let n = 0; n < 2_000; n++) writes.add(`${n}`, "2");
  expect(writes.isStale("0", "1")).toBe(false);
  expect(writes.isStale("1999", "1")).toBe(true);
});
