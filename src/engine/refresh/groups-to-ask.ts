import type { Upsert } from "../../core/plan/change.ts";
import type { RefreshCandidate, RefreshReads } from "../../ports/ledger/refresh.ts";
import type { Plan, PlanEntry } from "../plan/plan.ts";

interface Wanted {
  /** Only groups that were verified before this time. */
  readonly before: Date;
  /** Only groups with these ids. */
  readonly of?: ReadonlySet<string> | undefined;
  readonly most: number;
}

const PAGE = 1_000;

/**
 * Updates that send groups as the service confirmed them, the one first that was verified longest ago. Leaves out the groups
 * whose rows are rejected or not ready, those that the plan removes, and in a plan for some tenants those whose tenants are
 * gone: the ledger doesn't know all of these.
 */
export async function* groupsToAsk(
  plan: Plan,
  { before, of, most }: Wanted,
  ledger: RefreshReads,
): AsyncGenerator<Upsert> {
  const named = of && { of: [...of] };
  let left = most;
  let after: RefreshCandidate | undefined;
  for (;;) {
    const page = await ledger.refreshable({ before, limit: PAGE, after, ...named });
    const passedOver = await passedOverIn(plan, page);
    for (const { verifiedAt: _, ...confirmed } of page) {
      if (passedOver.has(confirmed.user_group_id)) continue;
      if (left-- <= 0) return;
      yield { kind: "update", ...confirmed, refreshes: true, underWay: false, failedBefore: false };
    }
    after = page.at(-1);
    if (page.length < PAGE) return;
  }
}

/** A removal that was not made after all: its row has changed since the plan was made. */
const WITHDRAWN: readonly PlanEntry["kind"][] = ["replace", "delete"];
const PASSED_OVER: ReadonlySet<PlanEntry["kind"]> = new Set([
  "rejected",
  "not_ready",
  "missing",
  ...WITHDRAWN,
]);

async function passedOverIn(
  { counts, entries, isWhole }: Plan,
  page: readonly RefreshCandidate[],
): Promise<ReadonlySet<string>> {
  const passedOver = new Set<string>();
  const removals = counts.replace + counts.delete + (isWhole ? 0 : counts.missing);
  if (counts.rejected + counts.not_ready + removals === 0) return passedOver;
  const ids = new Set(page.map(({ user_group_id }) => user_group_id));
  for await (const batch of entries.read())
    for (const { kind, user_group_id } of batch)
      if (PASSED_OVER.has(kind) && user_group_id !== null && ids.has(user_group_id))
        passedOver.add(user_group_id);
  return passedOver;
}
