import { describeHeldRemovals } from "../../core/deletion/removals.ts";
import type { RotationCandidate } from "../../core/rotation/rotation-policy.ts";
import type { FailedRotation } from "../../engine/check/due-rotations.ts";
import type { SyncForecast } from "../../engine/check/sync-forecast.ts";
import { heldFrom, isHeld, type PlanEntry } from "../../engine/plan/plan.ts";
import type { LedgerView } from "../../ports/ledger/ledger.ts";
import { heldJson, messageJson, refreshHoldJson } from "./attention.ts";
import { type DetailedEntry, detailedEntries } from "./plan-entries.ts";

/** The lists of `plan --json`, each with the kinds of entries in it. */
const LISTS: readonly (readonly [name: string, kinds: readonly PlanEntry["kind"][]])[] = [
  ["create", ["create"]],
  ["update", ["update", "replace"]],
  ["delete", ["delete"]],
  ["missing", ["missing"]],
  ["gone", ["gone"]],
  ["waiting", ["waiting"]],
  ["outdated", ["outdated"]],
  ["rejected", ["rejected"]],
];

/** Writes the object of `plan --json` piece by piece, because a plan may be larger than the memory. */
export async function writePlanJson(
  { plan, tables, rotations, refresh, notStored, tokensMayBeMissingIn, failures, warnings }: SyncForecast,
  ledger: LedgerView,
  write: (text: string) => void,
): Promise<void> {
  const writeList = async (
    kinds: readonly PlanEntry["kind"][],
    jsonOf: (line: DetailedEntry) => object | undefined,
    first: readonly object[] = [],
  ): Promise<void> => {
    let separator = "";
    const writeItem = (json: object): void => {
      write(separator + JSON.stringify(json));
      separator = ",";
    };
    write("[");
    for (const json of first) writeItem(json);
    if (kinds.some((kind) => plan.counts[kind] > 0)) {
      for await (const line of detailedEntries(plan, ledger)) {
        const json = kinds.includes(line.entry.kind) ? jsonOf(line) : undefined;
        if (json !== undefined) writeItem(json);
      }
    }
    write("]");
  };

  write("{");
  for (const [name, kinds] of LISTS) {
    write(`"${name}":`);
    const first = name === "waiting" ? rotations.waiting.map(waitingJson) : [];
    await writeList(kinds, (line) => (isHeld(line.entry, plan) ? undefined : entryJson(line)), first);
    write(",");
  }
  write('"held":');
  if (plan.guard.kind === "allowed") write("null");
  else {
    const { approval: code, count, message } = describeHeldRemovals(plan.guard);
    write(`{"code":${JSON.stringify(code)},"count":${count},"message":${JSON.stringify(message)},"groups":`);
    await writeList(["replace", "delete", "missing"], ({ entry, name }) =>
      isHeld(entry, plan) ? heldJson(heldFrom(entry), name) : undefined,
    );
    write("}");
  }
  write(`,"rotate":${JSON.stringify(rotations.next.map(rotationJson))}`);
  write(
    `,"rotations_due":${rotations.total},"refresh_due":${refresh?.due ?? 0},"refresh_held":${JSON.stringify(refreshHoldJson(refresh?.hold ?? null))},"unchanged":${plan.unchanged},"not_ready":${plan.notReady}`,
  );
  write(
    `,"ask":${JSON.stringify(plan.leftUnderWay)},"in_doubt":${refresh?.doubted ?? 0},"not_stored":${notStored}`,
  );
  write(`,"tables":${JSON.stringify(tables)}`);
  write(`,"tokens_may_be_missing_in":${JSON.stringify(tokensMayBeMissingIn)}`);
  write(`,"warnings":${JSON.stringify(warnings.map(messageJson))}`);
  write(`,"failures":${JSON.stringify(failures.map(messageJson))}}\n`);
}

const rotationJson = ({ user_group_id, tokenSince }: RotationCandidate): object => ({
  user_group_id,
  token_since: tokenSince,
});

const waitingJson = ({ user_group_id, failure: { code, message, retryAt } }: FailedRotation): object => ({
  user_group_id,
  code,
  message,
  retry_at: retryAt,
});

function entryJson({ entry, changes, name }: DetailedEntry): object {
  const { user_group_id } = entry;
  switch (entry.kind) {
    case "create":
      return { user_group_id, name: entry.group.name };
    case "update":
    case "replace":
      return { user_group_id, action: entry.kind, name: entry.group.name, ...(changes ? { changes } : {}) };
    case "delete":
      return { user_group_id, name: name ?? null, absence: entry.absence };
    case "missing":
      return { user_group_id, name: name ?? null, absence: entry.absence, due_in_ms: entry.dueInMs };
    case "rejected":
      return { user_group_id, code: entry.code, message: entry.message };
    case "waiting":
      return { user_group_id, code: entry.code, message: entry.message, retry_at: entry.retryAt };
    case "outdated":
    case "gone":
    case "not_ready":
    case "left":
    case "returned":
    case "forgotten":
    case "change_dropped":
    case "settled":
      return { user_group_id };
  }
}
