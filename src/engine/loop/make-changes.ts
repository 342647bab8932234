import type { Outcome } from "../../core/apply/outcome.ts";
import type { Failure } from "../../core/failure/sync-error.ts";
import { type Change, isRemoval, type Upsert } from "../../core/plan/change.ts";
import type { ConfirmedGroup } from "../../core/record/candidates.ts";
import type { GroupRecord } from "../../core/record/record.ts";
import { reportFailure } from "../report/tally.ts";
import type { ServiceCalls } from "../service/service-calls.ts";
import { recordOutcome } from "./outcome.ts";
import { deleteGroup, replaceGroup } from "./remove-group.ts";
import { upsertGroup } from "./upsert-group.ts";
import { type Applying, type Work, workThrough } from "./work-through.ts";

/** Makes the changes of a plan, see `workThrough`. */
export async function makeChanges(changes: AsyncIterable<Change>, run: Applying): Promise<void> {
  async function* planned(): AsyncGenerator<Work> {
    for await (const change of changes) yield plannedChange(change, run);
  }
  await workThrough(planned(), run);
}

function plannedChange(change: Change, run: Applying): Work<Change> {
  const { user_group_id } = change;
  const { removals, keys, tally } = run;
  const wasLookedUp = (): boolean => keys.wasLookedUp(user_group_id);
  let hasReturned = false;
  return {
    user_group_id,
    // Only a full sync deletes or replaces a group, and it looks at the row once more.
    uponLookup: isRemoval(change) ? "is decided again" : "is dropped",
    decide: (record) => {
      const wasBack = change.kind === "delete" && wasLookedUp() && record?.absence === null;
      return wasBack ? undefined : change;
    },
    isStillRight: async (begun) => {
      if (isRemoval(change)) hasReturned = !(await removals.isStillRight(change, begun, wasLookedUp()));
      return !hasReturned;
    },
    call: async (_, before, calls) => {
      const record = await callFor(change, before, calls, run);
      // A lookup of the tenant tells itself what becomes of it.
      const isKept = !record && hasReturned && !calls.mayHaveHappened;
      if (isKept && !wasLookedUp()) {
        // A group that was to be replaced may not be as its row.
        if (change.kind === "replace") reportFailure(user_group_id, TENANT_RETURNED, run);
        else tally.report(user_group_id, TENANT_RETURNED);
      }
      return record;
    },
  };
}

interface Get {
  readonly user_group_id: string;
  /** Why it is sent, see `Upsert`. */
  readonly why: "restores" | "refreshes";
  /** The group as the service last confirmed it, which is sent, and so isn't changed. Null: no GET is sent. */
  readonly groupOf: (record: GroupRecord) => ConfirmedGroup | null;
  /** Called with the outcome, before it is recorded. */
  readonly answered?: ((outcome: Outcome) => void) | undefined;
}

/** A GET that is to change nothing: it asks what the service has. */
export const getOf = ({ user_group_id, why, groupOf, answered }: Get, run: Applying): Work<Upsert> => ({
  user_group_id,
  uponLookup: "is decided again",
  decide: (record) => {
    const confirmed = record && groupOf(record);
    if (!confirmed) return undefined;
    return { kind: "update", [why]: true, user_group_id, ...confirmed, underWay: false, failedBefore: false };
  },
  call: (change, before, calls) => callFor(change, before, calls, run, answered),
});

async function callFor(
  change: Change,
  before: GroupRecord | null,
  calls: ServiceCalls,
  run: Applying,
  answered?: Get["answered"],
): ReturnType<Work["call"]> {
  const outcome = await outcomeOf(change, before, calls, run);
  if (outcome === undefined) return undefined;
  answered?.(outcome);
  return () => recordOutcome(before, outcome, run);
}

/** Resolves to undefined if the run is ending: the next run then makes the change. Rejects if the run has to end. */
function outcomeOf(
  change: Change,
  before: GroupRecord | null,
  calls: ServiceCalls,
  run: Applying,
): Promise<Outcome | undefined> {
  switch (change.kind) {
    case "create":
    case "update":
      return upsertGroup(change, before, calls, run);
    case "replace":
      return replaceGroup(change, before, calls, run);
    case "delete":
      return deleteGroup(change, before, calls, run);
  }
}

const TENANT_RETURNED: Failure = {
  code: "TENANT_RETURNED",
  message:
    "its row has come back or changed since the source was read, so its group is not removed; the next sync looks at it again",
};
