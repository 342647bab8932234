import { type CandidateList, type DueTokens, rotationCandidate } from "../../core/record/candidates.ts";
import type { GroupRecord } from "../../core/record/record.ts";
import type { RotationCandidate } from "../../core/rotation/rotation-policy.ts";
import type { GroupReads } from "../../ports/ledger/groups.ts";

/** A list page by page, because the ledger changes while the caller works on a page. */
export async function* candidatePages(
  ledger: Pick<GroupReads, "candidates">,
  list: CandidateList,
  limit = 1_000,
): AsyncGenerator<readonly GroupRecord[]> {
  let after: GroupRecord | undefined;
  for (;;) {
    const page = await ledger.candidates(list, { limit, after });
    if (page.length > 0) yield page;
    after = page.at(-1);
    if (page.length < limit) return;
  }
}

/** Groups per page of `rotationCandidates`. */
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
