import { expect, test } from "vitest";
import { quantities, quantity } from "../../../src/core/text/quantity.ts";

test.each([
  [0, "0 groups"],
  [1, "1 group"],
  [2, "2 groups"],
])("%i is %s", (count, text) => {
  expect(quantity(count, "group")).toBe(text);
});

test("a list leaves out what there is none of", () => {
  const counts = [
    [2, "deletion"],
    [0, "update"],
    [1, "replacement"],
  ] as const;
  expect(quantities(counts)).toBe("2 deletions and 1 replacement");
});
