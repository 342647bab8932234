import { expect, test } from "vitest";
import { aBrokenFeed, aServingState, someGroups } from "../../builders/daemon-state.ts";
import { aRejection } from "../../builders/groups.ts";
import { aFailingGroup, aHealthyDaemon, aHealthySnapshot, minutesAgo } from "../a-healthy-daemon.ts";
import { pageOf, readOf } from "./shown-page.ts";

const STATE = aHealthyDaemon({
  configPath: "/srv/a b/$&.yaml",
  serving: aServingState({ feeds: { column: aBrokenFeed(minutesAgo(5)) } }),
  ledger: aHealthySnapshot({
    groups: someGroups({ total: 383, failing: 1_200 }),
    held: {
      count: 12_000,
      code: "4025bf58a4c4",
      groups: ["a", "b"].map((user_group_id) => ({ kind: "delete", user_group_id })),
    },
    failing: [aFailingGroup({ user_group_id: "c/d &\u202e", message: "a <b> & c" })],
    rejected: [{ ...aRejection({ user_group_id: "e" }), since: minutesAgo(180) }],
    names: new Map([
      ["a", "Alder <&> \u202e"],
      ["c/d &\u202e", "Globex"],
      ["e", "شركة"],
    ]),
  }),
});
const PAGE = pageOf(STATE);
const TEXT = readOf(STATE);

test("the worst comes first, with what it means and where the page says more", () => {
  expect(TEXT).toContain(
    "Find Needs attention: 12000 removals held. Look at the source first: are these tenants really gone? Held: see below Needs",
  );
  expect(TEXT).toContain("has no token. Since 2026-03-01 11:57:30 (5 min ago) Between two syncs: see below");
});

test("what says more of an incident comes below all incidents, and before what is well", () => {
  const order = ["held", "rejected", "failing", "serving", "runs", "groups", "about"];
  const places = order.map((id) => PAGE.indexOf(`<h2 id="${id}"`));
  expect(places.every((place) => place > PAGE.lastIndexOf('<div class="headline'))).toBe(true);
  expect(places).toEqual(places.toSorted((a, b) => a - b));
});

test("a command to copy names the config file as one word of a shell", () => {
  expect(TEXT).toContain(
    "Held 12 000 If they are meant to go: groupsync --config '/srv/a b/$&.yaml' sync --approve-deletions 4025bf58a4c4 The code approves exactly these, once. delete a",
  );
  expect(TEXT).toContain("… and 11 998 more: groupsync plan lists them");
});

test("each group has its reason, what helps, and its next try", () => {
  expect(TEXT).toContain(
    "Globex NOT_UPDATED: a <b> & c Compare the name with the row. If groupsync probe finds that a GET never changes a group, set service.update to replace or never. 3 in a row since 2026-03-01 08:52:30 (3 h ago), next try after 2026-03-01 12:14:30 (in 12 min)",
  );
  expect(TEXT).toContain("1 row e شركة VALUE_NULL: name (column name) is null Fill the column");
});

test("each id leads to its tenant, and has the group's name beside it", () => {
  const links = [
    ...PAGE.matchAll(/href="\?(tenant=[^"]*)"><bdi>(.*?)<\/bdi><\/a>(?: <bdi class="name">(.*?)<\/bdi>)?/g),
  ];
  expect(links.map(([, query, id, name]) => [new URLSearchParams(query).get("tenant"), id, name])).toEqual([
    ["a", "a", "Alder &lt;&amp;&gt; \\u{202e}"],
    ["b", "b", undefined],
    ["e", "e", "شركة"],
    ["c/d &\u202e", "c/d &amp;\\u{202e}", "Globex"],
  ]);
});
