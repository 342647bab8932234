import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { pageText } from "../../support/pages.ts";

test.each([
  ["the way of one row", "docs/internals.md", /^\| \d+ \| `([^`]+)` \|/gm],
  ["the layers of retries", "CONTRIBUTING.md", /^\| [\w ]+ \| `([\w/-]+\.ts)` \|/gm],
])("%s in %s names files that exist", (_, page, named) => {
  const files = [...pageText(page).matchAll(named)].map(([, file]) => file);
  expect(files.length).toBeGreaterThan(5);
  expect(files.filter((file) => !existsSync(new URL(`../../../src/${file}`, import.meta.url)))).toEqual([]);
});
