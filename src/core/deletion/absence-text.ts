import type { Delete } from "../plan/change.ts";
import type { Missing } from "../plan/planned-action.ts";
import { durationText } from "../text/duration.ts";

/** Why a group counts as without a tenant, or is deleted although it has one, for an operator. */
export const ABSENCE_TEXT: Record<Delete["absence"], string> = {
  absent: "its tenant is gone",
  flagged: "its tenant's row was flagged as removed",
  estranged: "its tenant was never seen in the source that the config names now",
  forgotten: "all groups of its scope are deleted, because `groupsync forget` was told so",
};

/** Of a tenant that the operator named. */
export const GONE_TEXT = "its tenant is gone, and there is no group of it";

const whenDue = (dueInMs: number): string =>
  dueInMs === 0 ? "by the next sync of all tenants" : `after another ${durationText(dueInMs)} of absence`;

/** Why the group counts as without a tenant, and when it is deleted. */
export function missingText({ absence, dueInMs }: Missing): string {
  const end = absence === "estranged" ? "held for approval" : "deleted";
  return `${ABSENCE_TEXT[absence]}; ${dueInMs === null ? "kept" : `${end} ${whenDue(dueInMs)}`}`;
}
