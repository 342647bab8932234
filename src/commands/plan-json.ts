import type { PlanEntry } from "../core/decide.ts";
import type { Plan } from "../engine/plan.ts";
import type { LedgerView } from "../ports/ledger.ts";
import { type PlanLine, planLines } from "./plan-lines.ts";

/** The lists of `plan --json` and the entries that they hold. */
const LISTS: readonly (readonly [name: string, kind: PlanEntry["kind"] | undefined])[] = [
  ["create", "create"],
  ["update", "update"],
  ["delete", undefined],
  ["missing", "missing"],
  ["waiting", "waiting"],
  ["outdated", "outdated"],
  ["rejected", "rejected"],
];

/** Writes the object that `plan --json` promises, piece by piece: a plan may be larger than the memory. */
export async function writePlanJson(
  plan: Plan,
  ledger: LedgerView,
  write: (text: string) => void,
): Promise<void> {
  write("{");
  for (const [name, kind] of LISTS) {
    write(`"${name}":[`);
    let separator = "";
    if (kind !== undefined && plan.counts[kind] > 0) {
      for await (const line of planLines(plan, ledger)) {
        if (line.entry.kind !== kind) continue;
        write(separator + JSON.stringify(jsonOf(line)));
        separator = ",";
      }
    }
    write("],");
  }
  write(`"held":null,"unchanged":${plan.unchanged}}\n`);
}

function jsonOf({ entry, changes }: PlanLine): object {
  const { user_group_id } = entry;
  switch (entry.kind) {
    case "create":
      return { user_group_id, name: entry.group.name };
    case "update":
      return { user_group_id, name: entry.group.name, ...(changes ? { changes } : {}) };
    case "rejected":
      return { user_group_id, code: entry.code, message: entry.message };
    case "waiting":
      return { user_group_id, code: entry.code, message: entry.message, retry_at: entry.retryAt };
    case "missing":
    case "returned":
    case "settled":
    case "outdated":
      return { user_group_id };
  }
}
