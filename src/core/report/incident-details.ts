import type { HeldGroups } from "../deletion/removals.ts";
import type { Failure } from "../failure/sync-error.ts";
import { reasonsOf, rejectedRows } from "../group/rejections.ts";
import type { TimedText } from "../text/printable.ts";
import { quantity } from "../text/quantity.ts";
import type { LedgerFacts } from "./scope-facts.ts";

/** Which groups or rows an incident is about. */
export interface IncidentDetails {
  /** How many there are: `51 tenants, 3 of them without any token`. */
  readonly whom: string;
  readonly items: readonly IncidentItem[];
  /** What the items leave out; empty if they are all there are. */
  readonly more: string;
}

/** Groups or rows with which the same is wrong. */
export interface IncidentItem {
  readonly label: string;
  /** The ids of the tenants, as far as they are known, a hundred at most. */
  readonly tenants: readonly string[];
  /** How many tenants or rows there are beside these. */
  readonly others: number;
  /** With the words of the first of them. */
  readonly failure?: Failure;
  readonly note: TimedText;
}

/** How many reasons, and how many tenants of an item, are shown at first. */
export const MOST_SHOWN = 10;
const MOST_TENANTS = 100;

type Tokenless = Pick<LedgerFacts, "tokenless">;

export function heldDetails({ count, groups }: HeldGroups, { tokenless }: Tokenless): IncidentDetails {
  const items = [...groupedBy(groups, ({ kind }) => kind)].map(([kind, held]) =>
    itemOf(kind, held.map(idOf)),
  );
  return {
    whom: whomText("group", count, groups.map(idOf), tokenless),
    items,
    more: count > groups.length ? `… and ${count - groups.length} more: groupsync plan lists them` : "",
  };
}

/** `count` groups fail, of which the ledger's list may have the first only. */
export function failingDetails({
  failing,
  tokenless,
  groups: { failing: count },
}: LedgerFacts): IncidentDetails {
  const items = [...groupedBy(failing, ({ code }) => code)].map(([code, alike]): IncidentItem => {
    const since = earliest(alike.map((group) => group.since));
    const next = earliest(alike.map(({ retryAt }) => retryAt));
    const message = alike[0]?.message ?? "";
    const note = ["since ", since, ", next try after ", next];
    return { ...itemOf(quantity(alike.length, "group"), alike.map(idOf)), failure: { code, message }, note };
  });
  return {
    whom: whomText("tenant", count, failing.map(idOf), tokenless),
    items: items.toSorted((a, b) => b.tenants.length - a.tenants.length),
    more: count > failing.length ? `… and ${count - failing.length} more` : "",
  };
}

export function rejectedDetails({
  rejected,
  tokenless,
}: Pick<LedgerFacts, "rejected" | "tokenless">): IncidentDetails {
  const reasons = reasonsOf(rejected);
  const items = reasons.slice(0, MOST_SHOWN).map((reason): IncidentItem => {
    const { rows, ids, since } = reason;
    const tenants = ids.slice(0, MOST_TENANTS);
    const others = tenants.length === 0 ? 0 : rows - tenants.length;
    return { label: quantity(rows, "row"), tenants, others, failure: reason, note: ["since ", since] };
  });
  const left = reasons.length - items.length;
  return {
    whom: whomText(
      "row",
      rejectedRows(rejected),
      rejected.flatMap(({ user_group_id }) => user_group_id ?? []),
      tokenless,
    ),
    items,
    more: left > 0 ? `… and ${left} more reasons: groupsync status --json lists them` : "",
  };
}

/** `count` groups owe this, of which the ledger's list may have the first only. */
export function owingDetails(
  what: LedgerFacts["owing"][number]["owed"][number],
  count: number,
  { owing, tokenless }: Pick<LedgerFacts, "owing" | "tokenless">,
): IncidentDetails {
  const ids = owing.filter(({ owed }) => owed.includes(what)).map(idOf);
  return {
    whom: whomText("tenant", count, ids, tokenless),
    items: ids.length > 0 ? [itemOf("", ids, count - ids.length)] : [],
    more: "",
  };
}

function groupedBy<T>(items: readonly T[], keyOf: (item: T) => string): ReadonlyMap<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}

const idOf = ({ user_group_id }: { readonly user_group_id: string }): string => user_group_id;

const itemOf = (label: string, tenants: readonly string[], others = 0): IncidentItem => ({
  ...{ label, tenants, others: Math.max(0, others), note: "" },
});

/** `count` of which these ids are known. */
function whomText(
  noun: string,
  count: number,
  ids: readonly string[],
  tokenless: ReadonlySet<string>,
): string {
  const without = ids.filter((id) => tokenless.has(id)).length;
  if (without === 0) return quantity(count, noun);
  const atLeast = count > ids.length ? "at least " : "";
  return `${quantity(count, noun)}, ${count === 1 ? "" : `${atLeast}${without} of them `}without any token`;
}

export const earliest = (times: readonly Date[]): Date =>
  new Date(Math.min(...times.map((time) => time.getTime())));
