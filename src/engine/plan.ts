import {
  type Apply,
  type DecisionContext,
  decide,
  type PlanEntry,
  presence,
  recovery,
} from "../core/decide.ts";
import { desiredTenants } from "../core/desired.ts";
import { SyncError } from "../core/errors.ts";
import { columnsOf, type GroupRules } from "../core/rule.ts";
import type { LedgerView } from "../ports/ledger.ts";
import type { OpenSpool, Spool } from "../ports/spool.ts";
import type { TenantSource } from "../ports/tenant-source.ts";
import { mergeById } from "./merge.ts";
import { readTenants } from "./tenants.ts";

export interface PlanPorts {
  readonly source: TenantSource;
  readonly ledger: LedgerView;
  readonly openSpool: OpenSpool;
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
 * Reads the source and the ledger to their ends and keeps what differs. Changes nothing.
 * With `only`, everything else is passed over. The caller closes `entries`.
 */
export async function planRun(
  ports: PlanPorts,
  rules: GroupRules,
  context: DecisionContext,
  only?: ReadonlySet<string>,
): Promise<Plan> {
  const counts = {
    create: 0,
    update: 0,
    waiting: 0,
    missing: 0,
    returned: 0,
    recovered: 0,
    outdated: 0,
    rejected: 0,
  };
  const seen = new Set<string>();
  const entries = ports.openSpool<PlanEntry>();
  let unchanged = 0;
  let conclusive = false;

  try {
    const rows = ports.source.rows(columnsOf(rules));
    const tenants = readTenants(rows, desiredTenants(rules), rules.id);
    await mergeById(tenants, ports.ledger.groups(), (tenant, group) => {
      if (tenant?.kind === "desired") conclusive = true;
      if (only !== undefined) {
        const id = tenant?.user_group_id ?? group?.user_group_id;
        if (id === undefined || !only.has(id)) return;
        seen.add(id);
      }
      const decided = decide(tenant, group, context);
      if (decided === null && tenant !== undefined) unchanged++;
      const atRest = decided === null ? recovery(tenant, group) : null;
      for (const entry of [decided, presence(tenant, group), atRest]) {
        if (entry === null) continue;
        counts[entry.kind]++;
        entries.append(entry);
      }
    });
    if (only !== undefined) insistOnAll(only, seen);
    return { entries, counts, unchanged, conclusive };
  } catch (error) {
    entries.close();
    throw error;
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
