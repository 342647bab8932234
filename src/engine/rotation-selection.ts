import { SyncError } from "../core/errors.ts";
import type { Clock } from "../ports/clock.ts";
import type { LedgerView } from "../ports/ledger.ts";
import { existingGroups, type Which } from "./existing-groups.ts";

/** Whose tokens the operator wants to have rotated. */
export type RotationSelection =
  | { readonly kind: "all" }
  | { readonly kind: "older than"; readonly ageMs: number }
  | { readonly kind: "only"; readonly ids: ReadonlySet<string> };

/**
 * Whom a selection means. All are all, whatever any clock has said of a token.
 * Rejects with UNKNOWN_ID where the ledger has no group of an id, or none that was ever made.
 */
export async function groupsOf(
  selection: RotationSelection,
  { ledger, clock }: { readonly ledger: Pick<LedgerView, "existing">; readonly clock: Clock },
): Promise<Which> {
  switch (selection.kind) {
    case "all":
      return {};
    case "older than":
      return { liveSince: new Date(clock.now().getTime() - selection.ageMs) };
    case "only": {
      const of = [...selection.ids];
      const known = new Set<string>();
      for await (const id of existingGroups(ledger, { of })) known.add(id);
      insistOnAll(of.filter((id) => !known.has(id)));
      return { of };
    }
  }
}

function insistOnAll(unknown: readonly string[]): void {
  if (unknown.length === 0) return;
  throw new SyncError(
    "UNKNOWN_ID",
    `the ledger has no group of ${unknown.map((id) => JSON.stringify(id)).join(", ")}`,
    {
      hint: "ids are compared byte by byte: check case and spaces; a group that is not made yet has no token",
    },
  );
}
