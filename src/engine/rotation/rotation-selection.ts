import { SyncError } from "../../core/failure/sync-error.ts";
import { type DueTokens, type GroupSelection, rotationCandidate } from "../../core/record/candidates.ts";
import type { RotationCandidate } from "../../core/rotation/rotation-policy.ts";
import type { Clock } from "../../ports/clock.ts";
import type { GroupReads } from "../../ports/ledger/groups.ts";
import { candidatePages } from "../plan/candidate-pages.ts";

/** Which tokens the operator wants rotated. */
export type RotationSelection =
  | { readonly kind: "all" }
  | { readonly kind: "older than"; readonly ageMs: number }
  | { readonly kind: "only"; readonly ids: ReadonlySet<string> };

/**
 * The groups of a selection. "All" doesn't look at the age of a token, because a clock may have been wrong.
 * Rejects with UNKNOWN_ID if the ledger has no group with one of the ids, or the group was never made.
 */
export async function groupsOf(
  selection: RotationSelection,
  { ledger, clock }: { readonly ledger: Pick<GroupReads, "candidates">; readonly clock: Clock },
): Promise<GroupSelection> {
  switch (selection.kind) {
    case "all":
      return {};
    case "older than":
      return { liveSince: new Date(clock.now().getTime() - selection.ageMs) };
    case "only": {
      const of = [...selection.ids];
      const known = new Set<string>();
      for await (const page of candidatePages(ledger, { kind: "existing", of }))
        for (const { user_group_id } of page) known.add(user_group_id);
      const unknown = of.filter((id) => !known.has(id));
      if (unknown.length === 0) return { of };
      const ids = unknown.map((id) => JSON.stringify(id)).join(", ");
      throw new SyncError("UNKNOWN_ID", `the ledger has no group of ${ids}`, {
        hint: "ids are compared byte by byte: check case and spaces; a group that is not made yet has no token",
      });
    }
  }
}

const PAGE = 500;

/** Groups whose tokens a sync may rotate, the oldest token first. A rotated group is no candidate any more. */
export async function* rotationCandidates(
  ledger: Pick<GroupReads, "candidates">,
  which: DueTokens,
): AsyncGenerator<RotationCandidate> {
  for await (const page of candidatePages(ledger, { kind: "rotatable", ...which }, PAGE))
    for (const record of page) {
      const candidate = rotationCandidate(record);
      if (candidate) yield candidate;
    }
}
