import { expect, test } from "vitest";
import {
  failingDetails,
  heldDetails,
  heldRefreshDetails,
  type IncidentDetails,
  rejectedDetails,
} from "../../../src/core/report/incident-details.ts";
import { aRejection } from "../../builders/groups.ts";

const SINCE = new Date("2026-03-01T00:00:00Z");
const LATER = new Date("2026-03-01T12:00:00Z");
const aFailure = { code: "REFUSED", message: "", count: 1, since: SINCE, retryAt: LATER };
const aGroup = (n: number) => ({ ...aFailure, kind: "delete" as const, user_group_id: `cus-${n}` });
const many = (count: number) => Array.from({ length: count }, (_, n) => aGroup(n));

test.each<[string, IncidentDetails, listed: number, more: number]>([
  ["ten failing groups", failingDetails(many(10), 10), 10, 0],
  ["failing groups, not all of them known", failingDetails(many(100), 1_500), 10, 1_490],
  ["held groups", heldDetails({ count: 12_000, code: null, groups: many(100) }), 10, 11_990],
  [
    "reasons of rejected rows",
    rejectedDetails(
      Array.from({ length: 13 }, (_, n) => ({ ...aRejection({ message: `${n}` }), since: SINCE })),
    ),
    10,
    3,
  ],
])("%s are listed up to ten, and counted", (_, { items, more }, listed, others) => {
  expect([items.length, more.count]).toEqual([listed, others]);
});

test("what is held comes with the command that approves it, or that shows the code", () => {
  expect(heldDetails({ count: 1, code: null, groups: [] }).help?.command).toBe("groupsync plan");
  const refresh = { changed: 6, owned: 40, allowed: 4, approval: "c2" };
  expect(heldRefreshDetails(refresh).help?.command).toBe("groupsync sync --refresh --approve-refresh c2");
  expect(heldDetails({ count: 1, code: "c1", groups: [] }).help?.command).toBe(
    "groupsync sync --approve-deletions c1",
  );
});

test("rejected rows are grouped by their reasons, with their ids and since when", () => {
  const named = Array.from({ length: 12 }, (_, n) => ({
    ...aRejection({ user_group_id: `cus-${n}` }),
    since: n === 5 ? SINCE : LATER,
  }));
  const nameless = { ...aRejection({ user_group_id: null, code: "ID_NULL", rows: 2 }), since: LATER };
  const { count, items } = rejectedDetails([nameless, ...named]);
  expect(count).toBe(14);
  expect(items).toMatchObject([
    { label: "12 rows", others: 2, failure: { code: "VALUE_NULL" }, note: ["since ", SINCE] },
    { label: "2 rows", tenants: [], others: 0, failure: { code: "ID_NULL" } },
  ]);
  expect(items[0]?.tenants).toEqual(named.slice(0, 10).map(({ user_group_id }) => user_group_id));
});
