import { digestSeed } from "../../core/group/desired-group.ts";
import { columnsOf, type GroupRules } from "../../core/group/group-rules.ts";
import type { Tenant } from "../../core/group/tenant.ts";
import { isRemoval, type Removal, type Step } from "../../core/plan/change.ts";
import type { Clock } from "../../ports/clock.ts";
import type { TenantLookups, TenantSource } from "../../ports/tenant-source.ts";
import { tenantsById } from "../plan/read-tenants.ts";

interface CheckPorts {
  readonly source: TenantSource;
  readonly clock: Clock;
}

/** For how long a lookup counts, in milliseconds. One lookup is of several tenants, because it may read the whole source. */
const COUNTS_FOR = 1_000;
const MOST_AT_ONCE = 500;

export type RemovalCheck = ReturnType<typeof removalCheck>;

/**
 * Looks at a tenant once more right before its group is deleted or replaced: the tenant may be back, or changed, since the
 * source was read for the plan. `table` is the table that was read for the plan.
 */
export function removalCheck(
  { source, clock }: CheckPorts,
  rules: GroupRules,
  table: string | null,
  stop: AbortSignal,
) {
  let lookups: Promise<TenantLookups> | undefined;
  let last: Lookup | undefined;

  const lookUp = async (ids: readonly string[]): Promise<ReadonlyMap<string | null, Tenant>> => {
    lookups ??= source.lookups(columnsOf(rules), digestSeed(rules), stop, table);
    return tenantsById(await (await lookups).rowsOf(ids), rules);
  };

  return {
    /**
     * False if the removal is outdated. Of `begun`, removals follow soon. `insistsOnNow`: an earlier lookup doesn't count,
     * because somebody else may have seen a newer row. Rejects as the source's lookups do.
     */
    async isStillRight(removal: Removal, begun: Iterable<Step>, insistsOnNow = false): Promise<boolean> {
      const { user_group_id: id } = removal;
      const now = clock.monotonic();
      const counts = last !== undefined && now - last.at <= COUNTS_FOR && last.ids.has(id);
      if (insistsOnNow || last === undefined || !counts) {
        const next = [...begun].filter(isRemoval).slice(0, MOST_AT_ONCE);
        const ids = new Set([id, ...next.map(({ user_group_id }) => user_group_id)]);
        last = { at: now, ids, tenants: lookUp([...ids]) };
      }
      const tenant = (await last.tenants).get(id);
      if (removal.kind === "delete") return tenant === undefined || tenant.kind === "flagged";
      return tenant?.kind === "desired" && tenant.fingerprint === removal.fingerprint;
    },

    async close(): Promise<void> {
      await (await lookups?.catch(() => undefined))?.close();
    },
  };
}

interface Lookup {
  /** On the monotonic clock, in milliseconds. */
  readonly at: number;
  readonly ids: ReadonlySet<string>;
  readonly tenants: Promise<ReadonlyMap<string | null, Tenant>>;
}
