import { expect, test } from "vitest";
import { metricsTable } from "../../../build/docs/metrics-table.ts";
import { pageText } from "../../support/pages.ts";

test("docs/observe.md has a row for every metric", async () => {
  const namesIn = (text: string): string[] =>
    [...text.matchAll(/^\| `(groupsync_\w+)` \|/gm)].map(([, name = ""]) => name).sort();
  expect(namesIn(pageText("docs/observe.md"))).toEqual(namesIn(await metricsTable()));
});
