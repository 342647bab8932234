import { RemovalSummaryBuilder } from "../../core/deletion/removal-summary.ts";
import { SyncError } from "../../core/failure/sync-error.ts";
import { desiredTenants, digestSeed } from "../../core/group/desired-group.ts";
import { columnsOf, type GroupRules } from "../../core/group/group-rules.ts";
import type { LedgerGroup } from "../../core/group/ledger-group.ts";
import type { Tenant } from "../../core/group/tenant.ts";
import { type DeletionPolicy, LIMIT_PERIOD_MS } from "../../core/plan/deletion-policy.ts";
import { ledgerUpdateOf } from "../../core/plan/ledger-update.ts";
import {
  isLeftUnderWay,
  type PlanningContext,
  planAction,
  type UpdatePolicy,
} from "../../core/plan/planned-action.ts";
import { nextReading, type ReadHistory } from "../../core/plan/read-history.ts";
import type { LedgerView } from "../../ports/ledger/ledger.ts";
import type { KnownService } from "../../ports/ledger/service.ts";
import type { OpenSpool } from "../../ports/spool.ts";
import type { TenantSource } from "../../ports/tenant-source.ts";
import { findChangedBuckets } from "./changed-buckets.ts";
import { mergeById } from "./merge-by-id.ts";
import type { Plan, PlanEntry } from "./plan.ts";
import { PlanBuilder } from "./plan-builder.ts";
import { readTenants } from "./read-tenants.ts";
import { roleWarnings } from "./source-role.ts";

export interface PlanPorts {
  readonly source: TenantSource;
  readonly ledger: LedgerView;
  readonly openSpool: OpenSpool;
}

export interface PlanSettings {
  /** The scope in the ledger. */
  readonly name: string;
  readonly rules: GroupRules;
  readonly update: UpdatePolicy;
  readonly deletion: DeletionPolicy;
  /** Describes the source, without secrets. If the source changes, a missing row is no proof that the tenant is gone. */
  readonly source: string;
}

export interface PlanOptions {
  /** Also verify that each token store has the token of every group. */
  readonly verifyTokens?: boolean | undefined;
  /** Only these ids, even if their next attempt is not due. */
  readonly only?: ReadonlySet<string> | undefined;
  /** The code by which the operator approves the held removals. */
  readonly approval?: string | undefined;
}

/** What the ledger knew when the plan was made. */
export interface LedgerState {
  readonly service: KnownService;
  readonly history: ReadHistory;
}

/** Read once per run, so that the plan and its records use the same state. */
export const readLedgerState = async (ledger: LedgerView): Promise<LedgerState> => ({
  service: await ledger.service(),
  history: await ledger.readHistory(),
});

/**
 * Reads the source and the ledger side by side and keeps the differences. Changes nothing. Leaves out buckets whose rows equal
 * what the ledger has recorded. The caller closes `entries`.
 * Rejects as the source and the ledger do, and with UNKNOWN_ID if neither of them has an id of `only`.
 */
export async function makePlan(
  ports: PlanPorts,
  settings: PlanSettings,
  { service, history }: LedgerState,
  now: Date,
  stop: AbortSignal,
  { only, approval }: PlanOptions = {},
): Promise<Plan> {
  const { name, rules, update, deletion } = settings;
  const expected = nextReading(history, settings.source, now);
  const recent = await ports.ledger.removalsSince(new Date(now.getTime() - LIMIT_PERIOD_MS));
  const removals = new RemovalSummaryBuilder({
    name,
    baseUrl: service.baseUrl,
    approvals: history.approvals,
  });
  const snapshot = await ports.source.open(columnsOf(rules), digestSeed(rules), stop, expected.table);
  const reading = { ...expected, table: snapshot.table };
  const context: PlanningContext = {
    now,
    update,
    deletion,
    reading,
    serviceUpdates: service.updates,
    eager: only !== undefined,
  };
  const entries = ports.openSpool<PlanEntry>();
  const builder = new PlanBuilder(entries, removals);
  try {
    // An empty ledger has no buckets to compare, and the rows of named ids may lie in unchanged buckets.
    const readAll = only !== undefined || service.baseUrl === null;
    const { buckets, unchanged } = readAll
      ? { buckets: undefined, unchanged: 0 }
      : await findChangedBuckets(snapshot, ports.ledger, context);
    builder.addUnchanged(unchanged);
    const seen = new Set<string>();
    const visit = (tenant: Tenant | undefined, group: LedgerGroup | undefined): void => {
      builder.see(tenant, group);
      if (only !== undefined) {
        const id = tenant?.user_group_id ?? group?.user_group_id;
        if (id === undefined || !only.has(id)) return;
        seen.add(id);
      }
      const action = planAction(tenant, group, context);
      builder.add(tenant, action, ledgerUpdateOf(tenant, group, action, reading));
      if (group !== undefined && isLeftUnderWay(group, action)) builder.leaveUnderWay(group);
    };
    const tenants = readTenants(snapshot.rows(buckets), desiredTenants(rules), rules.id);
    if (buckets?.length !== 0) await mergeById(tenants, ports.ledger.groups(buckets), visit);
    if (only !== undefined) rejectUnknown(only, seen);
    const warnings = roleWarnings(await snapshot.role());
    return builder.build(
      { reading, isWhole: only === undefined, sourceTable: snapshot.table, warnings },
      { recent, limit: deletion.limit, approval },
    );
  } catch (error) {
    entries.close();
    throw error;
  } finally {
    await snapshot.close();
  }
}

function rejectUnknown(only: ReadonlySet<string>, seen: ReadonlySet<string>): void {
  const unknown = [...only].filter((id) => !seen.has(id));
  if (unknown.length === 0) return;
  throw new SyncError(
    "UNKNOWN_ID",
    `neither the source nor the ledger has ${unknown.map((id) => JSON.stringify(id)).join(", ")}`,
    { hint: "ids are compared byte by byte: check case, spaces and source.where" },
  );
}
