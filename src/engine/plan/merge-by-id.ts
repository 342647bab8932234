import type { LedgerGroup } from "../../core/group/ledger-group.ts";
import { compareIds, type Tenant } from "../../core/group/tenant.ts";
import { BatchReader, readAhead } from "./batch-reader.ts";

/**
 * Reads the source and the ledger side by side. Both are ordered by the bytes of the id. Calls `visit` once for each id, with
 * the tenant, the group, or both. Each row without an id gets a call of its own.
 */
export async function mergeById(
  tenants: AsyncIterable<readonly Tenant[]>,
  groups: AsyncIterable<readonly LedgerGroup[]>,
  visit: (tenant: Tenant | undefined, group: LedgerGroup | undefined) => void,
): Promise<void> {
  const left = new BatchReader(readAhead(tenants));
  const right = new BatchReader(readAhead(groups));
  try {
    for (;;) {
      // Ask for both at once, because they are in two databases or in two sessions.
      if (isUsedUp(left) || isUsedUp(right)) await Promise.all([left.fill(), right.fill()]);
      const tenant = left.current;
      const group = right.current;
      if (tenant === undefined && group === undefined) return;

      const order = compareHeads(tenant, group);
      visit(order <= 0 ? tenant : undefined, order >= 0 ? group : undefined);
      if (order <= 0) left.advance();
      if (order >= 0) right.advance();
    }
  } finally {
    await Promise.allSettled([left.close(), right.close()]);
  }
}

const isUsedUp = ({ current, ended }: BatchReader<unknown>): boolean => current === undefined && !ended;

function compareHeads(tenant: Tenant | undefined, group: LedgerGroup | undefined): number {
  if (tenant === undefined) return 1;
  if (group === undefined || tenant.user_group_id === null) return -1;
  return compareIds(tenant.user_group_id, group.user_group_id);
}
