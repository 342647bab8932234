import type { Outcome } from "../../core/apply/outcome.ts";
import type { Upsert } from "../../core/plan/change.ts";
import { isUnverified, refreshCandidate } from "../../core/record/candidates.ts";
import type { GroupRecord } from "../../core/record/record.ts";
import type { Clock } from "../../ports/clock.ts";
import type { GroupReads } from "../../ports/ledger/groups.ts";
import { getOf } from "../loop/make-changes.ts";
import type { Applying, Work } from "../loop/work-through.ts";
import type { Plan, PlanEntry } from "../plan/plan.ts";

interface Asked {
  /** Only groups that were not verified since this time. */
  readonly since: Date;
  /** Only groups with these ids. */
  readonly of: ReadonlySet<string> | undefined;
  /** How many groups at most, unless more are in doubt. */
  readonly most: number;
  /** Only groups in doubt because the ledger went back in time. */
  readonly onlyAfterRewind?: boolean;
}

const PAGE = 1_000;

/** A GET that sends the group as the service confirmed it, unless it was verified since this time. */
export const refreshOf = (
  user_group_id: string,
  since: Date,
  run: Applying,
  answered?: (outcome: Outcome) => void,
): Work<Upsert> =>
  getOf(
    {
      user_group_id,
      why: "refreshes",
      groupOf: (record) =>
        isUnverified(record, { since, now: run.clock.now() }) ? refreshCandidate(record) : null,
      answered,
    },
    run,
  );

/**
 * The ids of the groups to be refreshed, in the order of `lastVerified`. Leaves out what only the plan knows:
 * groups whose rows are rejected or not ready, those that the plan removes, and in a plan for some tenants those whose tenants are
 * gone.
 */
export async function* groupsToAsk(
  plan: Plan,
  { since, of, most, onlyAfterRewind = false }: Asked,
  { ledger, clock }: { readonly ledger: Pick<GroupReads, "candidates">; readonly clock: Clock },
): AsyncGenerator<string> {
  let left = most;
  let after: GroupRecord | undefined;
  for (;;) {
    const now = clock.now();
    const list = { kind: "refreshable", since, now, of: of && [...of] } as const;
    const records = await ledger.candidates(list, { limit: PAGE, after });
    const passedOver = await passedOverIn(plan, records);
    for (const record of records) {
      const { user_group_id, doubt } = record;
      if (passedOver.has(user_group_id) || refreshCandidate(record) === null) continue;
      if ((left-- <= 0 && doubt === null) || (onlyAfterRewind && doubt !== "rewind")) return;
      yield user_group_id;
    }
    after = records.at(-1);
    if (records.length < PAGE) return;
  }
}

/** A planned removal may not have been made: the row has changed since the plan was made. */
const PASSED_OVER = ["rejected", "not_ready", "missing", "replace", "delete"] as const;

async function passedOverIn(
  { counts, entries }: Plan,
  page: readonly GroupRecord[],
): Promise<ReadonlySet<string>> {
  const passedOver = new Set<string>();
  if (PASSED_OVER.every((kind) => counts[kind] === 0)) return passedOver;
  const kinds: ReadonlySet<PlanEntry["kind"]> = new Set(PASSED_OVER);
  const ids = new Set(page.map(({ user_group_id }) => user_group_id));
  for await (const batch of entries.read())
    for (const { kind, user_group_id } of batch)
      if (kinds.has(kind) && user_group_id !== null && ids.has(user_group_id)) passedOver.add(user_group_id);
  return passedOver;
}
