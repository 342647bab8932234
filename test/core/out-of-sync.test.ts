import { expect, test } from "vitest";
import { outOfSyncText } from "../../src/core/out-of-sync.ts";

test.each([
  [0, 0, 0, ""],
  [1, 0, 0, "1 rejected row"],
  [0, 1, 0, "1 failing group"],
  [2, 3, 0, "2 rejected rows and 3 failing groups"],
  [2, 3, 1, "2 rejected rows, 3 failing groups, and 1 outdated group"],
])("%i rejected, %i failed, %i outdated: %s", (rejected, failed, outdated, text) => {
  expect(outOfSyncText({ rejected, failed, outdated })).toBe(text);
});
