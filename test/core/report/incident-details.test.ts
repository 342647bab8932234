import { expect, test } from "vitest";
import type { Concerned } from "../../../src/core/report/card.ts";
import {
  failingDetails,
  heldDetails,
  owingDetails,
  rejectedDetails,
} from "../../../src/core/report/incident-details.ts";
import { aLedgerStatus, someGroups } from "../../builders/daemon-state.ts";
import { aRejection } from "../../builders/groups.ts";

const SINCE = new Date("2026-03-01T00:00:00Z");
const LATER = new Date("2026-03-01T12:00:00Z");
const aGroup = (n: number, code = "REFUSED") => ({
  ...{ code, message: `of ${n}`, count: 1, since: n === 1 ? SINCE : LATER, retryAt: LATER },
  ...{ kind: "delete" as const, user_group_id: `cus-${n}` },
});
const many = (count: number) => Array.from({ length: count }, (_, n) => aGroup(n));
const everybody = { tokenless: new Set<string>() };

test.each<[string, Concerned, whom: string, more: number]>([
  ["all of them", heldDetails({ count: 2, code: null, groups: many(2) }, everybody), "2 groups", 0],
  [
    "the first of them",
    heldDetails({ count: 12_000, code: null, groups: many(100) }, everybody),
    "12000 groups",
    11_900,
  ],
  [
    "the first of the reasons",
    rejectedDetails({
      ...everybody,
      rejected: Array.from({ length: 13 }, (_, n) => ({ ...aRejection({ message: `${n}` }), since: SINCE })),
    }),
    "13 rows",
    3,
  ],
])("if the ledger tells of %s, all are counted", (_, details, whom, more) => {
  expect([details.whom, details.more]).toEqual([whom, more]);
});

test.each<[count: number, without: readonly string[], whom: string]>([
  [2, [], "2 tenants"],
  [2, ["cus-1"], "2 tenants, 1 of them without any token"],
  [1, ["cus-0"], "1 tenant, without any token"],
  [51, ["cus-0", "cus-1"], "51 tenants, at least 2 of them without any token"],
])("of %j tenants, those without a token are counted: %j", (count, without, whom) => {
  const owing = many(Math.min(count, 2)).map(({ user_group_id }) => {
    return { user_group_id, owed: ["wanted" as const], wantedSince: SINCE };
  });
  expect(owingDetails("wanted", count, { owing, tokenless: new Set(without) }).whom).toBe(whom);
});

test("failing groups are grouped by their codes, the most first, with the first one's words", () => {
  const failing = [aGroup(0, "TIMEOUT"), aGroup(1), aGroup(2)];
  const groups = someGroups({ failing: 1_500 });
  const { items, more } = failingDetails(aLedgerStatus({ failing, groups }));
  expect(items).toEqual([
    {
      ...{ label: "2 groups", count: 2, tenants: ["cus-1", "cus-2"] },
      failure: { code: "REFUSED", message: "of 1" },
      note: ["since ", SINCE, ", next try after ", LATER],
    },
    expect.objectContaining({ label: "1 group", tenants: ["cus-0"] }),
  ]);
  expect(more).toBe(1_497);
});

test("rejected rows are grouped by their reasons, with their ids and since when", () => {
  const named = Array.from({ length: 12 }, (_, n) => ({
    ...aRejection({ user_group_id: `cus-${n}` }),
    since: n === 5 ? SINCE : LATER,
  }));
  const nameless = { ...aRejection({ user_group_id: null, code: "ID_NULL", rows: 2 }), since: LATER };
  const { whom, items } = rejectedDetails({ ...everybody, rejected: [nameless, ...named] });
  expect(whom).toBe("14 rows");
  expect(items).toMatchObject([
    { label: "12 rows", count: 12, failure: { code: "VALUE_NULL" }, note: ["since ", SINCE] },
    { label: "2 rows", count: 2, tenants: [], failure: { code: "ID_NULL" } },
  ]);
  expect(items[0]?.tenants).toEqual(named.map(({ user_group_id }) => user_group_id));
});
