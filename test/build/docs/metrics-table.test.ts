import { expect, test } from "vitest";
import { metricsTable } from "../../../build/docs/metrics-table.ts";
import { pageText } from "../../support/pages.ts";

test("tells a metric's type, its labels with their values, and what it means", async () => {
  expect(await metricsTable("groupsync_noticing_up", "groupsync_build_info")).toBe(
    "| metric | type | labels | meaning |\n| --- | --- | --- | --- |\n" +
      "| `groupsync_noticing_up` | gauge | `way`: `column`, `channel` | 1 while tenants are noticed in this way, " +
      "0 while they should be, and are not; none while another instance holds the lease. |\n" +
      "| `groupsync_build_info` | gauge | `version` | Which groupsync this is; always 1. |\n",
  );
});

test("leaves out the metrics of the process, and refuses one that isn't there", async () => {
  expect(await metricsTable()).not.toContain("nodejs_");
  await expect(metricsTable("groupsync_gone")).rejects.toThrow("there is no metric groupsync_gone");
});

test("docs/monitoring.md has a row for every metric", async () => {
  const namesIn = (text: string): string[] =>
    [...text.matchAll(/^\| `(groupsync_\w+)` \|/gm)].map(([, name = ""]) => name).sort();
  expect(namesIn(pageText("docs/monitoring.md"))).toEqual(namesIn(await metricsTable()));
});
