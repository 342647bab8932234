import type { LedgerView } from "../ports/ledger.ts";
import type { ExistingOptions } from "../ports/rotation.ts";

/** Which groups of the ledger are meant. */
export type Which = Omit<ExistingOptions, "limit" | "after">;

const PAGE = 500;

/** Groups that the service has, or may have, a page at a time: the ledger changes while they are worked on. */
export async function* existingGroups(
  ledger: Pick<LedgerView, "existing">,
  which: Which,
): AsyncGenerator<string> {
  let after: string | undefined;
  for (;;) {
    const page = await ledger.existing({ ...which, limit: PAGE, after });
    yield* page;
    after = page.at(-1);
    if (page.length < PAGE) return;
  }
}
