import { digestSeed } from "../../core/group/desired-group.ts";
import { columnsOf } from "../../core/group/group-rules.ts";
import type { Change } from "../../core/plan/change.ts";
import type { RunEvent } from "../../ports/observer.ts";
import type { Served } from "../../ports/serve-tenant.ts";
import type { TenantLookUps, TenantSource } from "../../ports/tenant-source.ts";
import { type Applying, applyChanges } from "../apply/apply-changes.ts";
import { recordLedgerUpdates } from "../apply/record-ledger-updates.ts";
import { inTurn, TURN_IS_TAKEN } from "../lease/tenant-turns.ts";
import { makePlan, type PlanPorts, type PlanSettings, readLedgerState } from "../plan/make-plan.ts";
import { changesOf, type Plan, type PlanEntry } from "../plan/plan.ts";
import { Tally } from "../report/tally.ts";
import { settleRotations } from "../rotation/settle-rotations.ts";
import { restoreTokens } from "../verify/restore-tokens.ts";
import type { ServingRun } from "./companion.ts";
import type { OpenService, ServedTenant } from "./tenant-server.ts";

/** Opens the look-ups for a run. The caller closes them. Rejects as `TenantSource.lookUps` does. */
export async function openService(
  ports: PlanPorts,
  settings: PlanSettings,
  run: ServingRun,
): Promise<OpenService & { close(): Promise<void> }> {
  const { rules } = settings;
  const { table } = await run.ledger.readHistory();
  const lookUps = await ports.source.lookUps(columnsOf(rules), digestSeed(rules), run.signal, table);
  const looking = { ...ports, source: withKept(ports.source, lookUps) };
  return {
    get isIndexed() {
      return lookUps.isIndexed;
    },
    serve: (ids, served) => serveTenants(ids, served, looking, settings, run),
    close: () => lookUps.close(),
  };
}

/** The source with one connection for all looks, which stays open. */
const withKept = (source: TenantSource, lookUps: TenantLookUps): TenantSource => ({
  open: (...request) => source.open(...request),
  lookUps: async () => ({
    table: lookUps.table,
    isIndexed: lookUps.isIndexed,
    rowsOf: (ids) => lookUps.rowsOf(ids),
    close: async () => {},
  }),
});

/**
 * Makes the groups of some tenants equal to their rows: the decision, the intents and the stores are those of a full sync. Deletes
 * and replaces nothing, and leaves evidence, grace periods and limits alone.
 */
async function serveTenants(
  ids: readonly string[],
  served: (id: string, what: ServedTenant) => void,
  ports: PlanPorts,
  settings: PlanSettings,
  outer: ServingRun,
): Promise<void> {
  const observe = (event: RunEvent): void => {
    const end = endOf(event);
    if (end) served(end.id, { served: end.served });
    else if (isForOperators(event)) outer.observe(event);
  };
  const run: Applying = {
    ...outer,
    observe,
    tally: new Tally(),
    turns: TURN_IS_TAKEN,
    isForSingleTenants: true,
    handsRetriesOn: false,
  };
  await inTurn(outer.turns, ids, async () => {
    await outer.turns.looksAt(ids);
    const state = await readLedgerState(run.ledger);
    const only = new Set(ids);
    const plan = await makePlan(ports, settings, state, run.clock.now(), run.signal, {
      only,
      isNoticed: true,
    });
    try {
      const decided = new Map<string, ServedTenant>();
      for await (const entries of plan.entries.read())
        for (const entry of entries) {
          const what = withoutCall(entry);
          if (what && entry.user_group_id !== null) decided.set(entry.user_group_id, what);
        }
      await recordLedgerUpdates(plan, state.history, run);
      await restoreTokens(ids, run);
      await applyChanges(upsertsOf(plan), run);
      await settleRotations(plan.leftUnderWay, { isEager: false }, run);
      if (run.signal.aborted) return;
      // What a call has ended is told already.
      for (const id of ids)
        served(id, decided.get(id) ?? { served: plan.unknown.has(id) ? UNKNOWN : UNCHANGED });
    } finally {
      plan.entries.close();
    }
  });
}

const UNCHANGED: Served = { kind: "done", outcome: "unchanged" };
const UNKNOWN: Served = { kind: "unknown" };

async function* upsertsOf(plan: Plan): AsyncGenerator<Change> {
  for await (const change of changesOf(plan))
    if (change.kind === "create" || change.kind === "update") yield change;
}

/** What becomes of a tenant for which no call is made now. */
function withoutCall(entry: PlanEntry): ServedTenant | undefined {
  switch (entry.kind) {
    case "rejected":
      return conflict("rejected", entry);
    case "waiting":
      return { ...conflict("waiting", entry), retryAt: new Date(entry.retryAt) };
    case "outdated":
      return conflict("outdated", {
        code: "OUTDATED",
        message: "the row has changed, and service.update: never leaves the group as it is",
      });
    case "replace":
    case "delete":
      return conflict("held", {
        code: "NEEDS_FULL_SYNC",
        message: "only a full sync replaces the group, within deletion.limit",
      });
    case "gone":
    case "missing":
      return { served: UNKNOWN };
    default:
      return undefined;
  }
}

const conflict = (
  outcome: Extract<Served, { kind: "conflict" }>["outcome"],
  { code, message }: { readonly code: string; readonly message: string },
): ServedTenant => ({ served: { kind: "conflict", outcome, code, message } });

/** The end of a tenant, if the event is one. */
function endOf(event: RunEvent): { readonly id: string; readonly served: Served } | undefined {
  switch (event.kind) {
    case "recorded":
      return { id: event.user_group_id, served: { kind: "done", outcome: event.result } };
    case "restored":
    case "rotated":
      return { id: event.user_group_id, served: { kind: "done", outcome: "restored" } };
    case "failed": {
      const { user_group_id: id, code, message } = event;
      return { id, served: { kind: "failed", code, message } };
    }
    default:
      return undefined;
  }
}

const isForOperators = ({ kind }: RunEvent): boolean =>
  kind === "warning" || kind === "retry" || kind === "waiting" || kind === "unstored";
