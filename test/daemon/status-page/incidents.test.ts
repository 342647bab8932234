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

test("the worst comes first, and all of an incident is in one card", () => {
  const cards = PAGE.split('<div class="headline')
    .slice(1)
    .map((card) => /<h([12])[^>]*><bdi>(.*?)<[/]bdi>/.exec(card));
  expect(cards.map((card) => card?.[1])).toEqual(["1", "2", "2", "2"]);
  expect(TEXT).toContain("Find Needs attention: 12000 removals held. Look at the source first");
  expect(TEXT).toContain(
    "has no token. Since 2026-03-01 11:57:30 (5 min ago) What SOURCE_UNAVAILABLE means:",
  );
  const [first = 0, second = 0] = [...PAGE.matchAll(/<div class="headline/g)].map(({ index }) => index);
  const strip = PAGE.indexOf('<section id="dependencies"');
  expect([first < strip, strip < second]).toEqual([true, true]);
});

test("a command to copy names the config file as one word of a shell, if it reads one", () => {
  expect(TEXT).toContain(
    "12000 groups delete a Alder <&> \\u{202e} , b … and 11998 more If they are meant to go; the code approves exactly these, once: groupsync --config '/srv/a b/$&.yaml' sync --approve-deletions 4025bf58a4c4 Copy What DELETIONS_HELD means: groupsync help DELETIONS_HELD Copy",
  );
});

test("groups that fail in the same way have the reason, what helps, and their next try", () => {
  expect(TEXT).toContain(
    "Globex NOT_UPDATED: a <b> & c Compare the names. If groupsync --config '/srv/a b/$&.yaml' probe finds that a GET never changes a group, set service.update to replace or never. since 2026-03-01 08:52:30 (3 h ago), next try after 2026-03-01 12:14:30 (in 12 min)",
  );
  expect(TEXT).toContain("1 row e شركة VALUE_NULL: name (column name) is null Fill the column");
});

test("ten tenants are shown, and all that are known can be unfolded", () => {
  const ids = Array.from({ length: 30 }, (_, n) => `cus-${n}`);
  const failing = ids.map((user_group_id) => aFailingGroup({ user_group_id }));
  const groups = someGroups({ total: 51, failing: 51 });
  const state = aHealthyDaemon({
    ledger: aHealthySnapshot({ groups, failing, tokenless: new Set(ids.slice(0, 3)) }),
  });
  expect(readOf(state)).toContain("51 tenants, at least 3 of them without any token 30 groups cus-0 ,");
  const [before = "", folded = ""] = pageOf(state).split(
    '<details id="failing-0"><summary>20 more of these are known',
  );
  expect(before).toContain("cus-9<");
  expect(before).not.toContain("cus-10<");
  expect(folded).toContain("cus-29<");
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
