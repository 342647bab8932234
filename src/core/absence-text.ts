import type { Missing } from "./decide.ts";
import type { AbsenceKind } from "./ledger-group.ts";
import { durationText } from "./progress.ts";

/** How a tenant is gone, in words for an operator. */
export const ABSENCE_TEXT: Record<AbsenceKind, string> = {
  absent: "its tenant is gone",
  flagged: "its tenant's row was flagged as removed",
  estranged: "its tenant has not been seen since the config names another source",
};

/** How the tenant of a group is gone, and what becomes of the group. */
export function missingText({ absence, dueInMs }: Missing): string {
  const end = absence === "estranged" ? "held for approval" : "deleted";
  const until = dueInMs === null ? "kept" : `${end} after ${durationText(dueInMs)} more of this`;
  return `${ABSENCE_TEXT[absence]}; ${until}`;
}
