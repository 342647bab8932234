import type { Failure } from "../failure/failure.ts";
import { removalsAllowed } from "../plan/deletion-policy.ts";
import { quantities, quantity } from "../text/quantity.ts";
import { type HeldBack, type Inconclusive, removalsDue } from "./removal-guard.ts";

/** Removals that are not done, and why, for an operator. */
export interface HeldRemovals extends Failure {
  /** What the operator can do. */
  readonly hint: string;
  /** How many deletions and replacements are not done. */
  readonly count: number;
  /** The code that approves them; null if no approval is possible. */
  readonly approval: string | null;
}

/** Says which removals the guard holds, why, and what the operator can do. */
export function describeHeldRemovals(guard: HeldBack | Inconclusive): HeldRemovals {
  return guard.kind === "inconclusive" ? explainInconclusive(guard) : explainHeldBack(guard);
}

const explainInconclusive = ({ gone, kept }: Inconclusive): HeldRemovals => ({
  code: "SOURCE_INCONCLUSIVE",
  message: `the source returned no valid row, which may be a mistake, so ${quantity(gone, "group")} without a tenant ${are(gone)} kept`,
  hint: "check what the config's source section selects, and the database that source.url names; one valid row is enough for deletions to go on. To delete the very last groups, flag their rows (deletion.when: flagged)",
  count: gone - kept,
  approval: null,
});

function explainHeldBack({ removals, circumstances }: HeldBack): HeldRemovals {
  const { deletions, replacements, estranged, code: approval } = removals;
  const count = removalsDue(removals);
  const what = quantities([
    [deletions, "deletion"],
    [replacements, "replacement"],
  ]);
  const held = { code: "DELETIONS_HELD", count, approval };
  const approve = `groupsync sync --approve-deletions ${approval}`;
  if (estranged > 0) {
    return {
      ...held,
      message: `${what} ${are(count)} held: the config names another source than before (source.url, source.table, source.query or group.id), and ${estranged} of these tenants ${estranged === 1 ? "was" : "were"} never seen there`,
      hint: `if the new source is wrong, put the old one back: nothing was deleted. If it is right: ${approve}`,
    };
  }
  const { limit, owned, recent } = circumstances;
  const used = recent + removals.underWay;
  const already = used > 0 ? `, and ${used} went already` : "";
  return {
    ...held,
    message: `${what} ${are(count)} held: deletion.limit lets ${removalsAllowed(limit, owned)} of ${quantity(owned, "group")} go in 24 hours${already}`,
    hint: `${deletions > 0 ? OF_DELETIONS : OF_REPLACEMENTS} If so: ${approve}`,
  };
}

const OF_DELETIONS = "look at the source first: are these tenants really gone?";
const OF_REPLACEMENTS = "each of these groups gets a new token: will your application read it?";

const are = (count: number): string => (count === 1 ? "is" : "are");
