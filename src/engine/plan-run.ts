import { type DecisionContext, decide, isLeftUnderWay, type UpdatePolicy } from "../core/decide.ts";
import { type DeletionPolicy, LIMIT_PERIOD_MS } from "../core/deletion.ts";
import { desiredTenants, digestSeed } from "../core/desired.ts";
import { SyncError } from "../core/errors.ts";
import { type Evidence, nextReading } from "../core/evidence.ts";
import type { LedgerGroup } from "../core/ledger-group.ts";
import { noteOn } from "../core/note.ts";
import { RemovalTally } from "../core/removal-tally.ts";
import { columnsOf, type GroupRules } from "../core/rule.ts";
import type { Tenant } from "../core/tenant.ts";
import type { KnownService, LedgerView } from "../ports/ledger.ts";
import type { OpenSpool } from "../ports/spool.ts";
import type { TenantSource } from "../ports/tenant-source.ts";
import { mergeById } from "./merge.ts";
import type { Plan, PlanEntry } from "./plan.ts";
import { PlanBuilder } from "./plan-builder.ts";
import { roleWarnings } from "./source-role.ts";
import { findSuspects } from "./suspects.ts";
import { readTenants } from "./tenants.ts";

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
  /** Where the ids come from, in words and without secrets: another source is no evidence about this one's. */
  readonly source: string;
}

export interface PlanOptions {
  /** Look into the token stores, too, whether each has what it should. */
  readonly verifyTokens?: boolean | undefined;
  /** These ids alone, whether or not their next try is due. */
  readonly only?: ReadonlySet<string> | undefined;
  /** The code by which the operator approves what is held. */
  readonly approval?: string | undefined;
}

/** What the ledger knew when the plan was made. */
export interface LedgerState {
  readonly service: KnownService;
  readonly evidence: Evidence;
}

/** Read once a run: its plan and what is recorded of it go by the same. */
export const readLedgerState = async (ledger: LedgerView): Promise<LedgerState> => ({
  service: await ledger.service(),
  evidence: await ledger.evidence(),
});

/**
 * Reads the source and the ledger side by side and keeps what differs. Changes nothing. Buckets of rows whose
 * digests add up to those in the ledger are passed over. The caller closes `entries`.
 * Rejects as the source and the ledger do, and with UNKNOWN_ID where neither has an id of `only`.
 */
export async function planRun(
  ports: PlanPorts,
  settings: PlanSettings,
  { service, evidence }: LedgerState,
  now: Date,
  stop: AbortSignal,
  { only, approval }: PlanOptions = {},
): Promise<Plan> {
  const { name, rules, update, deletion } = settings;
  const expected = nextReading(evidence, settings.source, now);
  const recent = await ports.ledger.removalsSince(new Date(now.getTime() - LIMIT_PERIOD_MS));
  const removals = new RemovalTally({ name, baseUrl: service.baseUrl, approvals: evidence.approvals });
  const snapshot = await ports.source.open(columnsOf(rules), digestSeed(rules), stop, expected.table);
  const reading = { ...expected, table: snapshot.table };
  const context: DecisionContext = {
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
    const readAll = only !== undefined || service.baseUrl === null;
    const { buckets, unchanged } = readAll
      ? { buckets: undefined, unchanged: 0 }
      : await findSuspects(snapshot, ports.ledger, context);
    builder.addUnchanged(unchanged);
    const seen = new Set<string>();
    const visit = (tenant: Tenant | undefined, group: LedgerGroup | undefined): void => {
      builder.see(tenant, group);
      if (only !== undefined) {
        const id = tenant?.user_group_id ?? group?.user_group_id;
        if (id === undefined || !only.has(id)) return;
        seen.add(id);
      }
      const decided = decide(tenant, group, context);
      builder.add(tenant, decided, noteOn(tenant, group, decided, reading));
      if (group !== undefined && isLeftUnderWay(group, decided)) builder.leaveUnderWay(group);
    };
    const tenants = readTenants(snapshot.rows(buckets), desiredTenants(rules), rules.id);
    if (buckets?.length !== 0) await mergeById(tenants, ports.ledger.groups(buckets), visit);
    if (only !== undefined) insistOnAll(only, seen);
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

function insistOnAll(only: ReadonlySet<string>, seen: ReadonlySet<string>): void {
  const unknown = [...only].filter((id) => !seen.has(id));
  if (unknown.length === 0) return;
  throw new SyncError(
    "UNKNOWN_ID",
    `neither the source nor the ledger has ${unknown.map((id) => JSON.stringify(id)).join(", ")}`,
    { hint: "ids are compared byte by byte: check case, spaces and source.where" },
  );
}
