import { describe, expect, test } from "vitest";
import type { RememberedRejection } from "../../../src/core/group/rejections.ts";
import type { DaemonState } from "../../../src/daemon/state/state.ts";
import { someGroups } from "../../builders/daemon-state.ts";
import { aRejection } from "../../builders/groups.ts";
import { aFailingGroup, aHealthyDaemon, aHealthySnapshot, minutesAgo } from "../a-healthy-daemon.ts";
import { pageOf, readOf } from "./shown-page.ts";

describe("failing groups", () => {
  const failing = (count: number, listed: number, overrides = {}): DaemonState => {
    const ledger = aHealthySnapshot({
      groups: someGroups({ total: 383, failing: count }),
      failing: Array.from({ length: listed }, (_, index) =>
        aFailingGroup({ user_group_id: `cus-${index}.`, ...overrides }),
      ),
    });
    return aHealthyDaemon({ ledger });
  };

  test("have their reason, and their next try", () => {
    expect(readOf(failing(1, 1, { message: "a <b> & c" }))).toContain(
      "cus-0. NOT_UPDATED: a <b> & c Compare the group's name with the one in the message; groupsync probe finds out whether the service ever changes a group. 3 in a row for 3 h, next try in 12 min (2026-03-01 12:14:30)",
    );
    expect(readOf(failing(1, 1, { retryAt: minutesAgo(1) }))).toContain("next try with the next sync");
  });

  test("are listed up to ten, and counted", () => {
    const text = readOf(failing(1_500, 100));
    expect(text).toContain("Failing 1 500 cus-0.");
    expect(text).toContain("cus-9.");
    expect(text).not.toContain("cus-10.");
    expect(text).toContain("… and 1 490 more: groupsync status --json lists more");
    expect(readOf(failing(10, 10))).not.toContain("more:");
  });
});

test("a held refresh comes with the command that approves it", () => {
  const refreshHold = { changed: 1_200, owned: 9_000, allowed: 900, approval: "4025bf58a4c4" };
  const text = readOf(aHealthyDaemon({ ledger: aHealthySnapshot({ refreshHold }) }));
  expect(text).toContain("Needs attention: the refresh is held: 1200 groups were gone");
  expect(text).toContain("Held refresh 1 200");
  expect(text).toMatch(/groupsync --config \S+ sync --refresh --approve-refresh 4025bf58a4c4 /);
});

test("what is held is listed up to ten, with the command that approves it", () => {
  const groups = Array.from({ length: 100 }, (_, index) => ({
    kind: index === 0 ? ("replace" as const) : ("delete" as const),
    user_group_id: `cus-${index}.`,
  }));
  const held = { count: 12_000, code: "4025bf58a4c4", groups };
  const state = aHealthyDaemon({ ledger: aHealthySnapshot({ held }) });
  const text = readOf(state);
  expect(text).toContain("Held 12 000 12 000 removals wait for approval.");
  expect(text).toContain("replace cus-0. delete cus-1.");
  expect(text).toContain("delete cus-9. … and 11 990 more: groupsync plan lists them");
  expect(pageOf(state)).toContain(
    "<pre><code>groupsync --config /etc/groupsync/config.yaml sync --approve-deletions 4025bf58a4c4</code></pre>",
  );
});

test("a command to copy names the config file as one word of a shell", () => {
  const held = { count: 1, code: null, groups: [] };
  const state = aHealthyDaemon({
    configPath: "/srv/a b/$&.yaml",
    ledger: aHealthySnapshot({ held }),
  });
  expect(readOf(state)).toContain(
    "If they are meant to go: groupsync --config '/srv/a b/$&.yaml' plan It shows",
  );
});

test("each id leads to its tenant, and has the group's name beside it", () => {
  const ledger = aHealthySnapshot({
    groups: someGroups({ total: 3, failing: 1 }),
    held: {
      count: 2,
      code: "4025bf58a4c4",
      groups: ["a", "b"].map((user_group_id) => ({ kind: "delete", user_group_id })),
    },
    failing: [aFailingGroup({ user_group_id: "c/d &\u202e" })],
    rejected: [{ ...aRejection({ user_group_id: "e" }), since: minutesAgo(1) }],
  });
  const names = new Map([
    ["a", "Alder <&> \u202e"],
    ["c/d &\u202e", "Globex"],
    ["e", "شركة"],
  ]);
  const page = pageOf(aHealthyDaemon({ ledger: { ...ledger, names } }));
  const links = [
    ...page.matchAll(/href="\?(tenant=[^"]*)"><bdi>(.*?)<\/bdi><\/a>(?: <bdi class="name">(.*?)<\/bdi>)?/g),
  ];
  expect(links.map(([, query, id, name]) => [new URLSearchParams(query).get("tenant"), id, name])).toEqual([
    ["a", "a", "Alder &lt;&amp;&gt; \\u{202e}"],
    ["b", "b", undefined],
    ["c/d &\u202e", "c/d &amp;\\u{202e}", "Globex"],
    ["e", "e", "شركة"],
  ]);
});

describe("rejected rows", () => {
  const rejected = (...some: Partial<RememberedRejection>[]): DaemonState =>
    aHealthyDaemon({
      ledger: aHealthySnapshot({
        rejected: some.map((one) => ({ ...aRejection(one), since: minutesAgo(180), ...one })),
      }),
    });

  test("are grouped by their reasons, with their ids and since when", () => {
    const text = readOf(
      rejected(
        { user_group_id: null, code: "ID_NULL", message: "column id is null", rows: 2 },
        { user_group_id: "cus-1", message: "a <b> & c" },
        { user_group_id: "cus-2", message: "a <b> & c", since: minutesAgo(60) },
        { user_group_id: "cus-3", message: "a <b> & c" },
      ),
    );
    expect(text).toContain("rejected rows 5 ");
    expect(text).toContain("Rejected 5 No group can be made of these rows.");
    expect(text).toContain(
      "3 rows VALUE_NULL: a <b> & c Fill the column, or give its rule a default. cus-1 , cus-2 , cus-3 ; for 3 h",
    );
    expect(text).toContain(
      "2 rows ID_NULL: column id is null Fill the id's column, or have the source leave the row out. for 3 h",
    );
    expect(text.indexOf("cus-1")).toBeLessThan(text.indexOf("ID_NULL"));
  });

  test("have ten ids a reason, and ten reasons", () => {
    const ids = Array.from({ length: 12 }, (_, index) => ({ user_group_id: `cus-${index}.` }));
    const text = readOf(rejected(...ids, { user_group_id: null, rows: 5 }));
    expect(text).toContain("17 rows");
    expect(text).toContain("cus-9. and 7 more; for");
    expect(text).not.toContain("cus-10.");
    const reasons = Array.from({ length: 13 }, (_, index) => ({ message: `reason ${index}.` }));
    expect(readOf(rejected(...reasons))).toContain("… and 3 more: groupsync status --json lists more");
    expect(readOf(rejected(...reasons))).not.toContain("reason 10.");
  });
});
