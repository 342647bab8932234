import { SyncError } from "../../core/failure/sync-error.ts";
import { desiredTenants, duplicateTenant } from "../../core/group/desired-group.ts";
import type { GroupRules } from "../../core/group/group-rules.ts";
import { compareIds, type Tenant, type TenantRow } from "../../core/group/tenant.ts";

/**
 * Turns source rows into tenants, and rows of the same id into one rejection. Rejects with SOURCE_ORDER if the ids are not
 * ordered by their bytes: a merge of wrongly ordered ids would take present tenants for absent ones.
 */
export async function* readTenants(
  batches: AsyncIterable<readonly TenantRow[]>,
  rules: GroupRules,
): AsyncGenerator<readonly Tenant[]> {
  const evaluate = desiredTenants(rules);
  const idColumn = rules.id;
  let last: Tenant | undefined;
  let copies = 1;
  for await (const rows of batches) {
    const tenants: Tenant[] = [];
    for (const row of rows) {
      const tenant = evaluate(row);
      if (tenant.user_group_id === null) {
        tenants.push(tenant);
        continue;
      }
      const order = last === undefined ? -1 : compareIds(last.user_group_id as string, tenant.user_group_id);
      if (order > 0) throw outOfOrder(idColumn, last?.user_group_id ?? "", tenant.user_group_id);
      if (order === 0) {
        copies++;
        last = duplicateTenant(tenant.user_group_id, row.digest.bucket, idColumn, copies);
        continue;
      }
      if (last !== undefined) tenants.push(last);
      last = tenant;
      copies = 1;
    }
    if (tenants.length > 0) yield tenants;
  }
  if (last !== undefined) yield [last];
}

/** The tenants of rows that were looked up, by their ids. Several rows of one id make one rejected tenant. */
export async function tenantsById(
  rows: readonly TenantRow[],
  rules: GroupRules,
): Promise<ReadonlyMap<string | null, Tenant>> {
  const tenants = new Map<string | null, Tenant>();
  for await (const batch of readTenants(inOneBatch(rows), rules))
    for (const tenant of batch) tenants.set(tenant.user_group_id, tenant);
  return tenants;
}

/** Rows that were looked up, for what reads rows in batches. */
export async function* inOneBatch<T>(items: readonly T[]): AsyncGenerator<readonly T[]> {
  yield items;
}

const outOfOrder = (column: string, before: string, after: string): SyncError =>
  new SyncError(
    "SOURCE_ORDER",
    `the source returned ${JSON.stringify(after)} after ${JSON.stringify(before)}: column ${column} is not ordered by its bytes`,
    {
      hint: "this is not expected of any supported database; please report it with the column's type and collation",
    },
  );
