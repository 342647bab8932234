import type { HeldGroups } from "../deletion/removals.ts";
import { approveRefreshCommand, type RefreshHold } from "../drift/refresh.ts";
import { type FailingGroup, triesText } from "../failure/group-failures.ts";
import type { Failure } from "../failure/sync-error.ts";
import { type RememberedRejection, reasonsOf, rejectedRows } from "../group/rejections.ts";
import type { TimedText } from "../text/printable.ts";
import { quantity } from "../text/quantity.ts";

/** Which groups or rows an incident is about, and the command that helps. */
export interface IncidentDetails {
  readonly title: string;
  /** How many groups or rows there are. */
  readonly count: number;
  readonly help?: {
    /** When the command is right, or what it does. */
    readonly when: string;
    /** `groupsync …` */
    readonly command: string;
    readonly note?: string;
  };
  readonly items: readonly IncidentItem[];
  /** How many more items there are, and the command that names them. */
  readonly more: { readonly count: number; readonly command: string };
}

/** A group, or all rows that have the same mistake. */
export interface IncidentItem {
  /** Empty if the tenant says it all. */
  readonly label: string;
  /** The ids of the tenants. */
  readonly tenants: readonly string[];
  /** How many tenants or rows there are beside these. */
  readonly others: number;
  readonly failure?: Failure;
  readonly note: TimedText;
}

/** How many items, and how many tenants of an item, are listed. */
const SHOWN = 10;

export const heldDetails = ({ count, code, groups }: HeldGroups): IncidentDetails => ({
  ...{ title: "Held", count },
  help: {
    when: "If they are meant to go",
    command: code === null ? "groupsync plan" : `groupsync sync --approve-deletions ${code}`,
    note: code === null ? "It shows the code that approves them." : "The code approves exactly these, once.",
  },
  ...listed(
    groups.map(({ kind, user_group_id }) => ({ ...itemOf(user_group_id), label: kind })),
    count,
    "groupsync plan",
  ),
});

export const heldRefreshDetails = ({ changed, approval }: RefreshHold): IncidentDetails => ({
  ...{ title: "Held refresh", count: changed },
  help: {
    when: "If the refresh is to go on",
    command: approveRefreshCommand(approval),
    note: "The code is good until a refresh finds another such group.",
  },
  ...listed([], 0, ""),
});

/** `count` groups fail, of which `failing` may be the first. */
export const failingDetails = (failing: readonly FailingGroup[], count: number): IncidentDetails => ({
  ...{ title: "Failing", count },
  ...listed(
    failing.map((group) => ({ ...itemOf(group.user_group_id), failure: group, note: triesText(group) })),
    count,
    "groupsync status --json",
  ),
});

export function rejectedDetails(rejected: readonly RememberedRejection[]): IncidentDetails {
  const reasons = reasonsOf(rejected);
  const items = reasons.map((reason): IncidentItem => {
    const { rows, ids, since } = reason;
    const tenants = ids.slice(0, SHOWN);
    const others = tenants.length === 0 ? 0 : rows - tenants.length;
    return { label: quantity(rows, "row"), tenants, others, failure: reason, note: ["since ", since] };
  });
  return {
    ...{ title: "Rejected", count: rejectedRows(rejected) },
    ...listed(items, items.length, "groupsync status --json"),
  };
}

const itemOf = (user_group_id: string): IncidentItem => ({
  label: "",
  tenants: [user_group_id],
  others: 0,
  note: "",
});

/** The first items of `count`. */
function listed(
  items: readonly IncidentItem[],
  count: number,
  command: string,
): Pick<IncidentDetails, "items" | "more"> {
  const shown = items.slice(0, SHOWN);
  return { items: shown, more: { count: count - shown.length, command } };
}
