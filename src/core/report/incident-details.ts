import { reasonsOf, rejectedRows } from "../group/rejections.ts";
import { quantity } from "../text/quantity.ts";
import { type Concerned, type ConcernedItem, MOST_SHOWN } from "./card.ts";
import type { LedgerStatus } from "./scope-facts.ts";

const MOST_TENANTS = 100;

type Tokenless = Pick<LedgerStatus, "tokenless">;

export const heldDetails = (
  { count, groups }: NonNullable<LedgerStatus["held"]>,
  { tokenless }: Tokenless,
): Concerned =>
  concernedOf(
    "group",
    count,
    tokenless,
    alike(groups, ({ kind }) => kind).map(([kind, held]) => itemOf(kind, held)),
  );

/** `count` groups fail, of which the ledger's list may have the first only. */
export function failingDetails({ failing, tokenless, groups }: LedgerStatus): Concerned {
  const items = alike(failing, ({ code }) => code).map(([code, all]): ConcernedItem => {
    const next = earliest(all.map(({ retryAt }) => retryAt));
    const note = ["since ", earliest(all.map(({ since }) => since)), ", next try after ", next];
    const failure = { code, message: all[0]?.message ?? "" };
    return { ...itemOf(quantity(all.length, "group"), all), failure, note };
  });
  return concernedOf("tenant", groups.failing, tokenless, items);
}

export function rejectedDetails({
  rejected,
  tokenless,
}: Pick<LedgerStatus, "rejected"> & Tokenless): Concerned {
  const items = reasonsOf(rejected).map((reason): ConcernedItem => {
    const { rows, ids, since } = reason;
    return {
      label: quantity(rows, "row"),
      count: rows,
      tenants: ids,
      failure: reason,
      note: ["since ", since],
    };
  });
  return concernedOf("row", rejectedRows(rejected), tokenless, items);
}

/** `count` groups owe this, of which the ledger's list may have the first only. */
export function owingDetails(
  what: LedgerStatus["owing"][number]["owed"][number],
  count: number,
  { owing, tokenless }: Pick<LedgerStatus, "owing"> & Tokenless,
): Concerned {
  const groups = owing.filter(({ owed }) => owed.includes(what));
  return concernedOf("tenant", count, tokenless, groups.length > 0 ? [itemOf("", groups)] : []);
}

interface Group {
  readonly user_group_id: string;
}

/** In the order of their numbers, the most first. */
function alike<T extends Group>(all: readonly T[], keyOf: (one: T) => string): (readonly [string, T[]])[] {
  const keys = [...new Set(all.map(keyOf))];
  return keys
    .map((key) => [key, all.filter((one) => keyOf(one) === key)] as const)
    .toSorted(([, a], [, b]) => b.length - a.length);
}

const itemOf = (label: string, groups: readonly Group[]): ConcernedItem => ({
  ...{ label, count: groups.length, tenants: groups.map(({ user_group_id }) => user_group_id) },
});

/** `count` of them, of which the items may have the first only. */
function concernedOf(
  noun: string,
  count: number,
  tokenless: ReadonlySet<string>,
  items: readonly ConcernedItem[],
): Concerned {
  const ids = items.flatMap(({ tenants }) => tenants);
  const without = ids.filter((id) => tokenless.has(id)).length;
  const atLeast = count > ids.length ? "at least " : "";
  const ofThem = count === 1 ? "" : `${atLeast}${without} of them `;
  const shown = items
    .slice(0, MOST_SHOWN)
    .map((item) => ({ ...item, tenants: item.tenants.slice(0, MOST_TENANTS) }));
  return {
    whom: quantity(count, noun) + (without > 0 ? `, ${ofThem}without any token` : ""),
    items: shown,
    more: Math.max(0, count - shown.reduce((sum, item) => sum + item.count, 0)),
  };
}

export const earliest = (times: readonly Date[]): Date =>
  new Date(Math.min(...times.map((time) => time.getTime())));
