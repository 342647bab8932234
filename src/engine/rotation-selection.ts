import { SyncError } from "../core/errors.ts";
import { rotationCandidates } from "./rotation-candidates.ts";
import type { Run } from "./run.ts";

/** Whose tokens the operator wants to have rotated. */
export type RotationSelection =
  | { readonly kind: "all" }
  | { readonly kind: "older than"; readonly ageMs: number }
  | { readonly kind: "only"; readonly ids: ReadonlySet<string> };

export interface Selected {
  /** The oldest tokens first, or in the order of the operator. */
  readonly ids: AsyncIterable<string>;
  readonly count: number;
}

/** Rejects with UNKNOWN_ID where the ledger has no group of an id, or none that was ever confirmed. */
export async function selectedForRotation(
  selection: RotationSelection,
  { ledger, clock }: Pick<Run, "ledger" | "clock">,
): Promise<Selected> {
  if (selection.kind === "only") {
    const ids = [...selection.ids];
    const known = await ledger.confirmed(ids);
    insistOnAll(ids.filter((id) => !known.has(id)));
    return { ids: each(ids), count: ids.length };
  }
  const ageMs = selection.kind === "all" ? 0 : selection.ageMs;
  const until = new Date(clock.now().getTime() - ageMs);
  return { ids: idsOf(rotationCandidates(ledger, until)), count: await ledger.rotatableCount(until) };
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

async function* each(ids: readonly string[]): AsyncGenerator<string> {
  yield* ids;
}

async function* idsOf(candidates: AsyncIterable<{ readonly user_group_id: string }>): AsyncGenerator<string> {
  for await (const { user_group_id } of candidates) yield user_group_id;
}
