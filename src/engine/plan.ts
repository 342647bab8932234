import { type Apply, type DecisionContext, decide, noteOn, type PlanEntry } from "../core/decide.ts";
import { desiredTenants, digestSeed } from "../core/desired.ts";
import { SyncError } from "../core/errors.ts";
import type { LedgerGroup } from "../core/ledger-group.ts";
import { columnsOf, type GroupRules } from "../core/rule.ts";
import type { Tenant } from "../core/tenant.ts";
import type { LedgerView } from "../ports/ledger.ts";
import type { OpenSpool, Spool } from "../ports/spool.ts";
import type { TenantSource } from "../ports/tenant-source.ts";
import { mergeById } from "./merge.ts";
import { findSuspects } from "./suspects.ts";
import { readTenants } from "./tenants.ts";

export interface PlanPorts {
  readonly source: TenantSource;
  readonly ledger: LedgerView;
  readonly openSpool: OpenSpool;
}

export interface PlanOptions {
  /** Everything else is passed over. */
  readonly only?: ReadonlySet<string> | undefined;
  /** Nothing can be unchanged: every row is read without looking for differences first. */
  readonly ledgerIsNew?: boolean;
}

/** The differences between the source and the ledger, in the order of the ids. */
export interface Plan {
  readonly entries: Spool<PlanEntry>;
  readonly counts: Readonly<Record<PlanEntry["kind"], number>>;
  readonly unchanged: number;
  /** Whether the read can show that a tenant is absent: it had at least one valid row. */
  readonly conclusive: boolean;
}

/**
 * Reads the source and the ledger side by side and keeps what differs. Changes nothing. Buckets of rows whose
 * digests add up to those in the ledger are passed over.
 * The caller closes `entries`.
 */
export async function planRun(
  ports: PlanPorts,
  rules: GroupRules,
  context: DecisionContext,
  { only, ledgerIsNew = false }: PlanOptions = {},
): Promise<Plan> {
  const counts = { ...NOTHING_PLANNED };
  const seen = new Set<string>();
  const entries = ports.openSpool<PlanEntry>();

  const snapshot = await ports.source.open(columnsOf(rules), digestSeed(rules));
  try {
    const { buckets, unchanged: passedOver } =
      only || ledgerIsNew
        ? { buckets: undefined, unchanged: 0 }
        : await findSuspects(snapshot, ports.ledger, context);
    let unchanged = passedOver;
    let conclusive = passedOver > 0;
    const tenants = readTenants(snapshot.rows(buckets), desiredTenants(rules), rules.id);
    const visit = (tenant: Tenant | undefined, group: LedgerGroup | undefined): void => {
      if (tenant?.kind === "desired") conclusive = true;
      if (only !== undefined) {
        const id = tenant?.user_group_id ?? group?.user_group_id;
        if (id === undefined || !only.has(id)) return;
        seen.add(id);
      }
      const decided = decide(tenant, group, context);
      if (decided === null && tenant !== undefined) unchanged++;
      for (const entry of [decided, noteOn(tenant, group, decided)]) {
        if (entry === null) continue;
        counts[entry.kind]++;
        entries.append(entry);
      }
    };
    if (buckets?.length !== 0) await mergeById(tenants, ports.ledger.groups(buckets), visit);
    if (only !== undefined) insistOnAll(only, seen);
    return { entries, counts, unchanged, conclusive };
  } catch (error) {
    entries.close();
    throw error;
  } finally {
    await snapshot.close();
  }
}

const NOTHING_PLANNED: Plan["counts"] = {
  create: 0,
  update: 0,
  waiting: 0,
  missing: 0,
  returned: 0,
  settled: 0,
  outdated: 0,
  rejected: 0,
};

function insistOnAll(only: ReadonlySet<string>, seen: ReadonlySet<string>): void {
  const unknown = [...only].filter((id) => !seen.has(id));
  if (unknown.length === 0) return;
  throw new SyncError(
    "UNKNOWN_ID",
    `neither the source nor the ledger has ${unknown.map((id) => JSON.stringify(id)).join(", ")}`,
    { hint: "ids are compared byte by byte: check case, spaces and source.where" },
  );
}

/** The creates and updates of a plan: first what an earlier run left under way, then the others. */
export async function* changesOf(plan: Plan): AsyncGenerator<Apply> {
  if (plan.counts.create + plan.counts.update === 0) return;
  for (const underWay of [true, false]) {
    for await (const batch of plan.entries.read()) {
      for (const entry of batch) {
        if ((entry.kind === "create" || entry.kind === "update") && entry.underWay === underWay) yield entry;
      }
    }
  }
}
