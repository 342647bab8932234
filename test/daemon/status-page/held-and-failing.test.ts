import { describe, expect, test } from "vitest";
import type { DaemonState } from "../../../src/daemon/state/state.ts";
import {
  aFailingGroup,
  aHealthyDaemon,
  aHealthySnapshot,
  aHealthyStatus,
  minutesAgo,
} from "../a-healthy-daemon.ts";
import { pageOf, readOf } from "./shown-page.ts";

describe("failing groups", () => {
  const failing = (count: number, listed: number, overrides = {}): DaemonState => {
    const status = aHealthyStatus({
      groups: { total: 383, in_sync: 0, under_way: 0, failing: count, missing: 0, unverified: 0 },
      failing: Array.from({ length: listed }, (_, index) =>
        aFailingGroup({ user_group_id: `cus-${index}.`, ...overrides }),
      ),
    });
    return aHealthyDaemon({ ledger: aHealthySnapshot({ status }) });
  };

  test("have their reason, and their next try", () => {
    expect(readOf(failing(1, 1, { message: "a <b> & c" }))).toContain(
      "cus-0. NOT_UPDATED: a <b> & c 3 in a row for 3 h, next try in 12 min (2026-03-01 12:14:30 UTC)",
    );
    expect(readOf(failing(1, 1, { retryAt: minutesAgo(1) }))).toContain("next try with the next sync");
  });

  test("are listed up to twenty, and counted", () => {
    const text = readOf(failing(1_500, 100));
    expect(text).toContain("Failing 1 500 cus-0.");
    expect(text).toContain("cus-19.");
    expect(text).not.toContain("cus-20.");
    expect(text).toContain("… and 1 480 more: groupsync status --json lists more");
    expect(readOf(failing(20, 20))).not.toContain("more:");
  });

  test("have messages of 500 characters at most", () => {
    const text = readOf(failing(1, 1, { message: "m".repeat(2_000) }));
    expect(text).toContain(`${"m".repeat(499)}…`);
    expect(text).not.toContain("m".repeat(500));
  });
});

test("what is held is listed up to ten, with the command that approves it", () => {
  const groups = Array.from({ length: 100 }, (_, index) => ({
    kind: index === 0 ? ("replace" as const) : ("delete" as const),
    user_group_id: `cus-${index}.`,
  }));
  const held = { count: 12_000, code: "4025bf58a4c4", groups };
  const state = aHealthyDaemon({ ledger: aHealthySnapshot({ status: aHealthyStatus({ held }) }) });
  const text = readOf(state);
  expect(text).toContain("Held 12 000 12 000 removals wait for approval.");
  expect(text).toContain("replace cus-0. delete cus-1.");
  expect(text).toContain("delete cus-9. … and 11 990 more: groupsync plan lists them");
  expect(pageOf(state)).toContain("<pre><code>groupsync sync --approve-deletions 4025bf58a4c4</code></pre>");
});
