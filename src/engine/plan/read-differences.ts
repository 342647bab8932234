import { doesUpdate } from "../../core/apply/update-evidence.ts";
import { digestSeed } from "../../core/group/desired-group.ts";
import { columnsOf, type GroupRules } from "../../core/group/group-rules.ts";
import type { LedgerGroup } from "../../core/group/ledger-group.ts";
import type { Tenant } from "../../core/group/tenant.ts";
import { owes } from "../../core/record/owes.ts";
import type { LedgerView } from "../../ports/ledger/ledger.ts";
import type { KnownService } from "../../ports/ledger/scope.ts";
import type { Warning } from "../../ports/observer.ts";
import type { SourceRole, TenantSource } from "../../ports/tenant-source.ts";
import { mergeById } from "./merge-by-id.ts";
import type { PlanBuilder } from "./plan-builder.ts";
import { ALL_BUCKETS, findChangedBuckets, readBuckets } from "./read-buckets.ts";
import { inOneBatch, readTenants } from "./read-tenants.ts";

/** What the reads of a plan need, and what they feed. */
export interface PlanRead {
  readonly source: TenantSource;
  readonly ledger: LedgerView;
  readonly service: KnownService;
  readonly rules: GroupRules;
  readonly stop: AbortSignal;
  /** The table that the last run read. */
  readonly tableBefore: string | null;
  readonly builder: PlanBuilder;
  /** Decides about one id, of which the source or the ledger or both have something. In the order of the ids. */
  readonly visit: (tenant: Tenant | undefined, group: LedgerGroup | undefined) => void;
}

/** What a read says of the source itself. */
interface ReadSource {
  /** The table, with its schema; null for a query. */
  readonly table: string | null;
  /** About the database role that reads the source. */
  readonly warnings: readonly Warning[];
  /** The ids that were looked up, and that neither the source nor the ledger has. */
  readonly unknown: ReadonlySet<string>;
}

/**
 * Reads the source and the ledger side by side, in one snapshot of each. Leaves out buckets whose rows equal what the ledger
 * has recorded. With `only`, reads all buckets, and visits these ids alone.
 */
export async function readAll(read: PlanRead, only?: ReadonlySet<string>): Promise<ReadSource> {
  const { source, ledger, service, rules, stop, tableBefore, builder, visit } = read;
  const snapshot = await source.open(columnsOf(rules), digestSeed(rules), stop, tableBefore);
  const unknown = new Set(only);
  try {
    // An empty ledger has no buckets to compare.
    const { changed, ...unread } =
      service.baseUrl === null || only !== undefined
        ? ALL_BUCKETS
        : await findChangedBuckets(snapshot, ledger, { serviceUpdates: doesUpdate(service.evidence) });
    builder.addUnread(unread);
    if (changed?.length !== 0) {
      const { rows, groups, notReady } = await readBuckets(snapshot, ledger, changed, unread.unchanged);
      builder.addUnread({ unchanged: 0, notReady, owing: 0 });
      await mergeById(readTenants(rows, rules), groups, (tenant, group) => {
        if (group !== undefined) builder.see(group);
        const id = tenant?.user_group_id ?? group?.user_group_id;
        if (only === undefined || (id !== undefined && unknown.delete(id))) visit(tenant, group);
        else builder.seeRow(tenant);
      });
    }
    return { table: snapshot.table, warnings: roleWarnings(await snapshot.role()), unknown };
  } finally {
    await snapshot.close();
  }
}

/** Looks these ids up in the source and in the ledger. */
export async function readSome(
  only: ReadonlySet<string>,
  { source, ledger, rules, stop, tableBefore, builder, visit }: PlanRead,
): Promise<ReadSource> {
  const ids = [...only];
  const lookups = await source.lookups(columnsOf(rules), digestSeed(rules), stop, tableBefore);
  try {
    const [rows, records] = await Promise.all([lookups.rowsOf(ids), ledger.records(ids)]);
    const groups = [...records.values()];
    const unknown = new Set(ids);
    const owing = groups.filter((group) => owes(group).length > 0).length;
    builder.addUnread({ unchanged: 0, notReady: 0, owing });
    await mergeById(readTenants(inOneBatch(rows), rules), inOneBatch(groups), (tenant, group) => {
      const id = tenant?.user_group_id ?? group?.user_group_id;
      // An empty id is none.
      if (id === undefined) return;
      unknown.delete(id);
      visit(tenant, group);
    });
    if (builder.removals > 0) {
      builder.seeTotals({
        owned: (await ledger.sums({ kind: "existing" })).counts.total,
        removalsUnderWay: (await ledger.sums({ kind: "existing", isRemovalUnderWay: true })).counts.total,
      });
    }
    return { table: lookups.table, warnings: [], unknown };
  } finally {
    await lookups.close();
  }
}

/** Warns if the role that reads the source can do more than read the tenants. */
export function roleWarnings({ name, secrets, openSchemas }: SourceRole): readonly Warning[] {
  const reads = {
    code: "SOURCE_ROLE_READS_TOKENS",
    message: `user ${name} of source.url can read ${secrets.join(" and ")}, and so can the owner of a view or function that the source reads`,
    hint: "give source.url a user of its own that can read the tenants alone; `groupsync init` writes its statements",
  };
  const finds = openSchemas.map((schema) => ({
    code: "SOURCE_PATH_OPEN",
    message: `the SQL in \`source\` finds its functions and operators in schema ${schema} too, where others than user ${name} may create them and so run code as this user`,
    hint: `let only the schema's owner create in it (REVOKE CREATE ON SCHEMA ${schema} FROM …); or write each table in \`source\` as schema.table, and set the user's search_path to pg_catalog`,
  }));
  const all = secrets.length === 0 ? finds : [reads, ...finds];
  return all.map((warning) => ({ kind: "warning", ...warning, isStanding: true }));
}
