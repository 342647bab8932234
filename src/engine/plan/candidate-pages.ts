import type { CandidateList } from "../../core/record/candidates.ts";
import type { GroupRecord } from "../../core/record/record.ts";
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
