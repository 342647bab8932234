import type { AbsenceKind } from "./ledger-group.ts";

/** How a tenant is gone, in words for an operator. */
export const ABSENCE_TEXT: Record<AbsenceKind, string> = {
  absent: "its tenant is gone",
  flagged: "its tenant's row is flagged as removed",
  estranged: "its tenant has not been seen since the config names another source",
};
