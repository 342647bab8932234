import { expect, test } from "vitest";
import { counted, countedList } from "../../src/core/counted.ts";

test.each([
  [0, "0 groups"],
  [1, "1 group"],
  [2, "2 groups"],
])("%i is %s", (count, text) => {
  expect(counted(count, "group")).toBe(text);
});

test("a list leaves out what there is none of", () => {
  const counts = [
    [2, "deletion"],
    [0, "update"],
    [1, "replacement"],
  ] as const;
  expect(countedList(counts)).toBe("2 deletions and 1 replacement");
});
