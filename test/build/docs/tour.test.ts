import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { pageText } from "../../support/pages.ts";

test("the way of one row in docs/internals.md names files that exist", () => {
  const stops = [...pageText("docs/internals.md").matchAll(/^\| \d+ \| `([^`]+)` \|/gm)].map(
    ([, file]) => file,
  );
  expect(stops.length).toBeGreaterThan(10);
  expect(stops.filter((file) => !existsSync(new URL(`../../../src/${file}`, import.meta.url)))).toEqual([]);
});
