import { nameKey, namesOf } from "../../core/record/candidates.ts";
import { owes } from "../../core/record/owes.ts";
import type { GroupRecord } from "../../core/record/record.ts";
import type { GroupReads } from "../../ports/ledger/groups.ts";

/** A tenant that has a group in the ledger. */
export interface FoundTenant {
  readonly user_group_id: string;
  /** As the service last told it; null if it never did. */
  readonly name: string | null;
  /** What is not done for its group, in words. */
  readonly state: string;
}

export const MOST_FOUND = 10;

/**
 * The tenants whose ids or names begin with this text, those with such ids first. Blanks around it and its case don't count. More
 * than `MOST_FOUND` if there are more. Rejects with LEDGER_….
 */
export async function findTenants(
  text: string,
  ledger: Pick<GroupReads, "candidates">,
): Promise<readonly FoundTenant[]> {
  const wanted = text.trim();
  if (nameKey(wanted) === "") return [];
  // Ids differ by case, and nobody writes a part of an id in mixed case.
  const ids = new Set([wanted, wanted.toLowerCase(), wanted.toUpperCase()]);
  const found = new Map<string, GroupRecord>();
  for (const list of [
    ...[...ids].map((id) => ({ kind: "id begins", text: id }) as const),
    { kind: "name begins", text: wanted } as const,
  ])
    for (const record of await ledger.candidates(list, { limit: MOST_FOUND + 1 }))
      found.set(record.user_group_id, record);
  const names = namesOf(found);
  return [...found].slice(0, MOST_FOUND + 1).map(([user_group_id, record]) => ({
    user_group_id,
    name: names.get(user_group_id) ?? null,
    state: owes(record).join(", ") || (record.absence ? "missing" : "in sync"),
  }));
}
