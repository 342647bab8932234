import { dueIn, type HeldBack, type Inconclusive } from "./clearance.ts";
import { counted, countedList } from "./counted.ts";
import { removalsAllowed } from "./deletion.ts";
import type { Failure } from "./outcome.ts";

/** Why removals are not done, in words for an operator. */
export interface Hold extends Failure {
  /** What can be done about it. */
  readonly hint: string;
  /** Deletions and replacements that are not done. */
  readonly count: number;
  /** The code that approves them; null where none can. */
  readonly approval: string | null;
}

/** Says of a clearance that is none what is held, why, and what the operator can do. */
export function explainHold(clearance: HeldBack | Inconclusive): Hold {
  return clearance.kind === "inconclusive" ? explainInconclusive(clearance) : explainHeldBack(clearance);
}

const explainInconclusive = ({ gone, kept }: Inconclusive): Hold => ({
  code: "SOURCE_INCONCLUSIVE",
  message: `the source returned no valid row: this is no evidence, so ${counted(gone, "group")} without a tenant ${are(gone)} kept`,
  hint: "check source.table, source.where and the database that source.url names; one valid row is enough for all to go on. To have the very last groups deleted, flag their rows (deletion.when: flagged)",
  count: gone - kept,
  approval: null,
});

function explainHeldBack({ removals, circumstances }: HeldBack): Hold {
  const { deletions, replacements, estranged, code: approval } = removals;
  const count = dueIn(removals);
  const what = countedList([
    [deletions, "deletion"],
    [replacements, "replacement"],
  ]);
  const held = { code: "DELETIONS_HELD", count, approval };
  const approve = `If they are meant: groupsync sync --approve-deletions ${approval}`;
  if (estranged > 0) {
    return {
      ...held,
      message: `${what} ${are(count)} held: ${estranged} of these tenants ${estranged === 1 ? "has" : "have"} not been seen since the config names another source (source.url, source.table, source.query or group.id)`,
      hint: `if this source is the wrong one, put the old one back: nothing was deleted. ${approve}`,
    };
  }
  const { limit, owned, recent } = circumstances;
  const used = recent + removals.underWay;
  const already = used > 0 ? `, and ${used} went already` : "";
  return {
    ...held,
    message: `${what} ${are(count)} held: deletion.limit lets ${removalsAllowed(limit, owned)} of ${counted(owned, "group")} go in 24 hours${already}`,
    hint: `${deletions > 0 ? OF_DELETIONS : OF_REPLACEMENTS} ${approve}`,
  };
}

const OF_DELETIONS = "look at the source first: are these tenants really gone?";
const OF_REPLACEMENTS =
  "each of these groups will have a new token: is your application going to read it anew?";

const are = (count: number): string => (count === 1 ? "is" : "are");
