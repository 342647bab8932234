import { asSyncError, type Failure, isInterruption, tenantNotReady } from "../../core/failure/sync-error.ts";
import { digestSeed } from "../../core/group/desired-group.ts";
import { columnsOf } from "../../core/group/group-rules.ts";
import { isUsableId } from "../../core/group/tenant.ts";
import type { Change } from "../../core/plan/change.ts";
import type { ReadHistory } from "../../core/plan/read-history.ts";
import type { Observe, RunEvent } from "../../ports/observer.ts";
import type { Served } from "../../ports/serve-tenant.ts";
import type { TenantLookups, TenantSource } from "../../ports/tenant-source.ts";
import { type Applying, applyChanges } from "../apply/apply-changes.ts";
import { recordNotes } from "../apply/record-notes.ts";
import { recordRejections } from "../apply/record-rejections.ts";
import { ALREADY_LOCKED, type Lock, type TenantLocks } from "../lease/tenant-locks.ts";
import { makePlan, type PlanPorts, type PlanSettings } from "../plan/make-plan.ts";
import { changesOf, type Plan, type PlanEntry } from "../plan/plan.ts";
import { Tally } from "../report/tally.ts";
import { restoreTokens } from "../verify/restore-tokens.ts";
import { settleRotations } from "../verify/settle-rotations.ts";
import { mayPass, type OpenService, type ServedTenant, type ServingEvents } from "./tenant-server.ts";

/** Opens the lookups for a run. The caller closes them. Rejects as `TenantSource.lookups` does. */
export async function openService(
  ports: PlanPorts,
  settings: PlanSettings,
  run: ServingRun,
): Promise<OpenService & { close(): Promise<void> }> {
  const { rules } = settings;
  const { table } = (await run.ledger.scope()).history;
  const lookups = await ports.source.lookups(columnsOf(rules), digestSeed(rules), run.signal, table);
  const servingPorts = { ...ports, source: withKept(ports.source, lookups) };
  return {
    get isIndexed() {
      return lookups.isIndexed;
    },
    serve: (ids, on) => serveTenants(ids, on, servingPorts, settings, run),
    close: () => lookups.close(),
  };
}

/** The source with one connection for all lookups, which stays open. */
const withKept = (source: TenantSource, lookups: TenantLookups): TenantSource => ({
  open: (...request) => source.open(...request),
  lookups: async () => ({
    table: lookups.table,
    isIndexed: lookups.isIndexed,
    rowsOf: (ids) => lookups.rowsOf(ids),
    close: async () => {},
  }),
});

/** Serves tenants that somebody else works on when that work ends, and each of them alone, so that nobody waits with them. */
async function serveTenants(
  ids: readonly string[],
  { served, lookedUp }: ServingEvents,
  ports: PlanPorts,
  settings: PlanSettings,
  outer: ServingRun,
): Promise<void> {
  for (const id of ids) if (!isUsableId(id)) served(id, { served: UNKNOWN });
  const { lock, free, busy } = outer.locks.acquireFree(ids.filter(isUsableId));
  const serve = (some: readonly string[], of: Lock, onLookedUp: () => void): Promise<void> =>
    serveLocked(some, of, { served, lookedUp: onLookedUp }, ports, settings, outer);
  const work = [
    serve(free, lock, lookedUp),
    ...busy.map(async (id) => serve([id], await outer.locks.acquire([id]), () => {})),
  ];
  // Wait for all of them before the first error is thrown, because a call under way must not be abandoned.
  const failed = (await Promise.allSettled(work)).find(({ status }) => status === "rejected");
  if (failed?.status === "rejected") throw failed.reason;
}

/** A tenant while it is served. */
interface Tenant {
  /** Why the plan leaves its group as it is. */
  left?: ServedTenant;
  /** What became of its token, if a store lacked it. */
  restored?: ServedTenant;
  /** The call that follows: a change of the plan, or a GET that settles what an earlier run left under way. */
  next?: "change" | "settle";
  isTold: boolean;
}

type Tenants = ReadonlyMap<string, Tenant>;
type Tell = (id: string, end: ServedTenant) => void;

/**
 * Makes the groups of some tenants equal to their rows: the decision, the intents and the stores are those of a full sync. Deletes
 * and replaces nothing, and leaves evidence, grace periods and limits alone. Ends the lock of each tenant once that tenant is
 * served: the others may take long.
 */
async function serveLocked(
  ids: readonly string[],
  lock: Lock,
  { served, lookedUp }: ServingEvents,
  ports: PlanPorts,
  settings: PlanSettings,
  outer: ServingRun,
): Promise<void> {
  if (ids.length === 0) return lookedUp();
  const tenants: Tenants = new Map(ids.map((id) => [id, { isTold: false }]));
  const tell: Tell = (id, end) => {
    note(tenants, id, { isTold: true });
    served(id, end);
    // A call that settles the group may still be under way.
    if (tenants.get(id)?.next !== "settle") lock.releaseOne(id);
  };
  const { locks, ledger, clock, signal } = outer;
  try {
    await locks.looksUp(ids);
    const state = await ledger.scope();
    const only = new Set(ids);
    const plan = await makePlan(ports, settings, state, clock.now(), signal, { only, isNoticed: true });
    lookedUp();
    try {
      await readPlan(plan, tenants, locks);
      await carryOut(plan, state.history, tenants, tell, outer);
    } finally {
      plan.entries.close();
    }
  } catch (error) {
    const { code, message } = asSyncError(error);
    const untold = ids.filter((id) => !tenants.get(id)?.isTold);
    locks.leavesUnserved(untold, { code, message });
    if (!mayPass(error) && !isInterruption({ code })) outer.fail(error);
    throw error;
  } finally {
    lock.release();
  }
}

function note(tenants: Tenants, id: string, found: Partial<Tenant>): void {
  const tenant = tenants.get(id);
  if (tenant) Object.assign(tenant, found);
}

/** Notes of each tenant what the plan says. */
async function readPlan(plan: Plan, tenants: Tenants, locks: TenantLocks): Promise<void> {
  for (const id of plan.unknown) note(tenants, id, { left: { served: UNKNOWN } });
  for await (const entries of plan.entries.read())
    for (const entry of entries) {
      if (entry.user_group_id === null) continue;
      const left = whyLeft(entry);
      if (left) note(tenants, entry.user_group_id, { left });
      if (isUpsert(entry)) note(tenants, entry.user_group_id, { next: "change" });
      if (entry.kind === "replace")
        locks.leavesUnserved([entry.user_group_id], { ...CHANGED, desired: entry.fingerprint });
    }
  for (const id of plan.leftUnderWay) note(tenants, id, { next: "settle" });
}

/** Does what the plan says, and tells of each tenant as soon as its end is known. */
async function carryOut(
  plan: Plan,
  history: ReadHistory,
  tenants: Tenants,
  tell: Tell,
  outer: ServingRun,
): Promise<void> {
  const ids = [...tenants.keys()];
  const run: Applying = {
    ...outer,
    observe: observing(tell, outer),
    tally: new Tally(),
    locks: ALREADY_LOCKED,
    isForSingleTenants: true,
  };
  // Why the group is left as it is matters more than a token that was stored again, and less than one that wasn't.
  const observingTokens = (ended: Tell): Observe =>
    observing((id, end) => {
      if (end.served.kind === "failed" || !tenants.get(id)?.left) ended(id, end);
    }, outer);

  await recordNotes(plan, history, run);
  // A change of the group may follow, so what becomes of a token is not told yet.
  await restoreTokens(ids, {
    ...run,
    observe: observingTokens((id, restored) => note(tenants, id, { restored })),
  });
  if (run.signal.aborted) return;
  for (const [id, tenant] of tenants) if (!tenant.next) tell(id, endWithoutCall(tenant));
  await applyChanges(upsertsOf(plan), run);
  await settleRotations(plan.leftUnderWay, { ...run, observe: observingTokens(tell) });
  await recordRejections(plan, new Set(ids), run);
  if (run.signal.aborted) return;
  for (const [id, tenant] of tenants) if (!tenant.isTold) tell(id, endWithoutCall(tenant));
}

const endWithoutCall = ({ restored, left }: Tenant): ServedTenant =>
  restored ?? left ?? { served: UNCHANGED };

/** Takes the events of the work on single tenants: hands over their ends, and passes on what concerns the run around it. */
const observing =
  (ended: Tell, outer: ServingRun): Observe =>
  (event) => {
    // The other counts are of the full sync alone.
    if (event.kind === "drift") outer.tally.counts.drift[event.drift]++;
    const end = endOf(event);
    if (end) ended(end.id, { served: end.served });
    else if (isPassedOn(event)) outer.observe(event);
  };

const CHANGED: Failure = {
  code: "NEEDS_FULL_SYNC",
  message:
    "its row has changed since the source was read; the next full sync replaces the group, within deletion.limit",
};
const UNCHANGED: Served = { kind: "done", outcome: "unchanged" };
const UNKNOWN: Served = { kind: "unknown" };

async function* upsertsOf(plan: Plan): AsyncGenerator<Change> {
  for await (const change of changesOf(plan)) if (isUpsert(change)) yield change;
}

const isUpsert = ({ kind }: PlanEntry): boolean => kind === "create" || kind === "update";

/** What becomes of a tenant for whose group the plan makes no call now. */
function whyLeft(entry: PlanEntry): ServedTenant | undefined {
  switch (entry.kind) {
    case "rejected":
      return conflict("rejected", entry);
    case "waiting":
      return { ...conflict("waiting", entry), retryAt: new Date(entry.retryAt) };
    case "not_ready":
      return conflict("not_ready", tenantNotReady());
    case "outdated":
      return conflict("outdated", {
        code: "OUTDATED",
        message: "the row has changed, and service.update: never leaves the group as it is",
      });
    case "replace":
    case "delete":
      return conflict("held", {
        code: "NEEDS_FULL_SYNC",
        message: "the next full sync replaces the group, within deletion.limit",
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

const isPassedOn = ({ kind }: RunEvent): boolean =>
  kind === "warning" ||
  kind === "retry" ||
  kind === "waiting" ||
  kind === "unstored" ||
  kind === "drift" ||
  kind === "answered";

/** A run in which single tenants can be served. */
export interface ServingRun extends Applying {
  readonly locks: TenantLocks;
  /** Ends the run, and the work beside it, with this error: nothing more can be done. */
  readonly fail: (error: unknown) => void;
}

/**
 * Begins work that goes on beside a run, and after it as long as this process keeps the lease. Is called once the run is open. The
 * run goes on when it resolves, to what waits for the end of the work. The work ends soon after `until` aborts.
 */
export type WorkBeside = (run: ServingRun, until: AbortSignal) => Promise<() => Promise<void>>;
