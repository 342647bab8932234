import { expect, test } from "vitest";
import { counted, exceptionsText } from "../../src/commands/counted.ts";

test.each([
  [0, "0 groups"],
  [1, "1 group"],
  [2, "2 groups"],
])("%i is %s", (count, text) => {
  expect(counted(count, "group")).toBe(text);
});

test.each([
  [0, 0, ""],
  [1, 0, "1 rejected row"],
  [0, 1, "1 failing group"],
  [2, 3, "2 rejected rows and 3 failing groups"],
])("%i rejected and %i failing: %s", (rejected, failing, text) => {
  expect(exceptionsText(rejected, failing)).toBe(text);
});
