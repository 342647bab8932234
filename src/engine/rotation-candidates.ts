import type { RotationCandidate } from "../core/rotation.ts";
import type { LedgerView } from "../ports/ledger.ts";

const PAGE = 500;

/**
 * Groups whose tokens are live since `until` or longer, the oldest token first, a page at a time: the ledger
 * changes while they are worked on, and a rotated one is no candidate any more.
 */
export async function* rotationCandidates(
  ledger: Pick<LedgerView, "rotatable">,
  until: Date,
): AsyncGenerator<RotationCandidate> {
  let after: RotationCandidate | undefined;
  for (;;) {
    const page = await ledger.rotatable({ until, limit: PAGE, after });
    yield* page;
    after = page.at(-1);
    if (page.length < PAGE) return;
  }
}
