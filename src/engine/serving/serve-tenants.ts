import { LOOKUPS_NOT_INDEXED } from "../../core/changes/notice.ts";
import { allEnded } from "../../core/failure/all-ended.ts";
import { asSyncError, type Failure, isInterruption, tenantNotReady } from "../../core/failure/sync-error.ts";
import { digestSeed } from "../../core/group/desired-group.ts";
import { columnsOf } from "../../core/group/group-rules.ts";
import { isUsableId, type Tenant } from "../../core/group/tenant.ts";
import type { Upsert } from "../../core/plan/change.ts";
import { type Decision, decide, type PlannedAction, type PlanningContext } from "../../core/record/decide.ts";
import type { GroupRecord } from "../../core/record/record.ts";
import type { Observe, RunEvent } from "../../ports/observer.ts";
import type { Served } from "../../ports/serve-tenant.ts";
import type { TenantLookups } from "../../ports/tenant-source.ts";
import { HELD_ALREADY, type Hold, type Keys } from "../lease/keys.ts";
import { makeChanges } from "../loop/make-changes.ts";
import { type Applying, workThrough } from "../loop/work-through.ts";
import { type PlanPorts, type PlanSettings, planningContext } from "../plan/make-plan.ts";
import { tenantsById } from "../plan/read-tenants.ts";
import { recordRejections } from "../plan/record-rejections.ts";
import { inDoubt } from "../plan/report-owed.ts";
import { type AskingSettings, askIfSilent } from "../refresh/ask-if-silent.ts";
import { refreshOf } from "../refresh/groups-to-ask.ts";
import { unsafeToAsk } from "../refresh/held-refresh.ts";
import { Tally } from "../report/tally.ts";
import { restoreTokens, settleCalls } from "../verify/restore-tokens.ts";
import {
  mayPass,
  type OpenService,
  type ServedTenant,
  type ServingEvents,
  type TenantServer,
} from "./tenant-server.ts";

interface ServingParts {
  readonly server: TenantServer;
  /** Starts to notice tenants. Resolves once no later change is lost. `table` is the table that the last run read. */
  readonly startNoticing: (table: string | null) => Promise<void>;
  /** Aborts when the next full sync begins. */
  readonly end: AbortSignal;
}

/** Serves single tenants beside a full sync, and after it until the next one begins. */
export const serveBeside =
  ({ server, startNoticing, end }: ServingParts, ports: PlanPorts, settings: AskingSettings): WorkBeside =>
  async (run, until) => {
    const { table } = (await run.ledger.scope()).history;
    await startNoticing(table);
    const service = await openService(ports, settings, run);
    if (!service.isIndexed) run.observe({ kind: "warning", ...LOOKUPS_NOT_INDEXED, isStanding: true });
    run.keys.whenPlanIsMade((ids) => {
      for (const id of ids) server.lookUpAgain(id);
    });
    const over = new AbortController();
    const ending = AbortSignal.any([until, end, over.signal]);
    const serving = async (): Promise<void> => {
      const stopTaking = run.lease.takeRequests((ids) => {
        for (const id of ids) server.request(id);
      });
      try {
        await server.serveIn(service, ending);
      } finally {
        over.abort();
        stopTaking();
        await service.close();
      }
    };
    const ended = serving();
    // It is awaited only after the full sync.
    ended.catch(() => {});
    return async () => {
      try {
        await askIfSilent(ports, settings, run, ending);
      } finally {
        over.abort();
        await ended;
      }
    };
  };

/** Opens the lookups for a run. The caller closes them. Rejects as `TenantSource.lookups` does. */
async function openService(
  { source }: Pick<PlanPorts, "source">,
  settings: PlanSettings,
  run: ServingRun,
): Promise<OpenService & { close(): Promise<void> }> {
  const { rules } = settings;
  const { table } = (await run.ledger.scope()).history;
  const lookups = await source.lookups(columnsOf(rules), digestSeed(rules), run.signal, table);
  return {
    get isIndexed() {
      return lookups.isIndexed;
    },
    serve: (ids, on) => serveTenants(ids, on, lookups, settings, run),
    close: () => lookups.close(),
  };
}

/** Serves tenants. If somebody else holds a tenant's group, serves that tenant later and alone, so that the others don't wait. */
async function serveTenants(
  ids: readonly string[],
  { served, lookedUp }: ServingEvents,
  lookups: TenantLookups,
  settings: PlanSettings,
  outer: ServingRun,
): Promise<void> {
  for (const id of ids) if (!isUsableId(id)) served(id, { served: UNKNOWN });
  const usable = ids.filter(isUsableId);
  const { keys, fail } = outer;
  keys.looksUp(usable);
  const unserved = new Set(usable);
  const tell: Tell = (id, end) => {
    unserved.delete(id);
    keys.served(id);
    served(id, end);
  };
  const serve = async (some: readonly string[], holding: Promise<Hold>, on: () => void): Promise<void> => {
    const hold = await holding;
    try {
      const rows = some.length > 0 ? await lookups.rowsOf(some) : [];
      const found = await tenantsById(rows, settings.rules);
      on();
      await serveHeld(some, found, hold, tell, settings, outer);
    } catch (error) {
      const { code, message } = asSyncError(error);
      keys.leavesUnserved(
        some.filter((id) => unserved.has(id)),
        { code, message },
      );
      // Before the groups are released: whoever waits for them has to see that the run ends.
      if (!mayPass(error) && !isInterruption({ code })) fail(error);
      throw error;
    } finally {
      hold.release();
    }
  };
  try {
    const { free, busy, hold } = keys.holdFree(usable);
    const work = [serve(free, hold, lookedUp), ...busy.map((id) => serve([id], keys.hold([id]), () => {}))];
    await allEnded(work);
  } finally {
    // Whoever was told may be looked up again by now.
    for (const id of unserved) keys.served(id);
  }
}

interface Serving extends Decision {
  /** Why its group is left as it is. */
  readonly left: ServedTenant | undefined;
  /** The call that follows. */
  readonly change: Upsert | undefined;
  /** The ledger went back in time, so the stored token may be dead: a GET tells the live one. */
  readonly isDoubted: boolean;
  /** What became of its token, if a store lacked it. */
  restored?: ServedTenant;
  isTold: boolean;
}

type Tell = (id: string, end: ServedTenant) => void;

/**
 * Makes the groups of some tenants equal to their rows: the decision, the intents and the stores are those of a full sync. Deletes
 * and replaces nothing, and leaves evidence, grace periods and limits alone. Releases each group once its tenant is served: the
 * others may take long.
 */
async function serveHeld(
  ids: readonly string[],
  found: ReadonlyMap<string | null, Tenant>,
  hold: Hold,
  told: Tell,
  settings: PlanSettings,
  outer: ServingRun,
): Promise<void> {
  if (ids.length === 0) return;
  const { keys, ledger, committer, clock, signal } = outer;
  const [state, records] = await Promise.all([ledger.scope(), ledger.records(ids)]);
  const context = planningContext(settings, state, clock.now(), { isWhole: false, eager: false });
  const tenants = new Map(ids.map((id) => [id, servingOf(found.get(id), records.get(id), context)]));
  const tell: Tell = (id, end) => {
    const tenant = tenants.get(id);
    // A change has failed, and then a GET has told the live token: the failure is the end.
    if (tenant?.isTold) return;
    if (tenant) tenant.isTold = true;
    told(id, end);
    // A call that settles the group may still be under way.
    if (!tenant?.settles) hold.releaseOne(id);
  };
  const run: Applying = {
    ...outer,
    observe: observing(tell, outer),
    tally: new Tally(),
    keys: HELD_ALREADY,
    isForSingleTenants: true,
  };
  // Why the group is left as it is matters more than a token that was stored again, and less than one that wasn't.
  const observingTokens = (ended: Tell): Observe =>
    observing((id, end) => {
      if (end.served.kind === "failed" || !tenants.get(id)?.left) ended(id, end);
    }, outer);

  for (const { action } of tenants.values())
    if (action?.kind === "replace")
      keys.leavesUnserved([action.user_group_id], { ...CHANGED, desired: action.fingerprint });
  const notes = [...tenants.values()].flatMap(({ note }) => note ?? []);
  await Promise.all(
    notes.map((note) => committer.commit({ user_group_id: note.user_group_id, events: () => [note] })),
  );
  // A change of the group may follow, so what becomes of a token is not told yet.
  const restored: Tell = (id, end) => Object.assign(tenants.get(id) ?? {}, { restored: end });
  const restore = (some: readonly string[]): Promise<unknown> =>
    restoreTokens(some, { ...run, observe: observingTokens(restored) });
  const change = async (some: ReadonlyMap<string, Serving>): Promise<void> => {
    if (signal.aborted) return;
    for (const [id, tenant] of some)
      if (!tenant.change && !tenant.settles && !tenant.isDoubted) tell(id, endWithoutCall(tenant));
    await makeChanges(each([...some.values()].flatMap(({ change }) => change ?? [])), run);
  };
  const hasToken = (id: string): boolean => typeof records.get(id)?.tokenFingerprint === "string";
  const those = (withToken: boolean): ReadonlyMap<string, Serving> =>
    new Map([...tenants].filter(([id]) => hasToken(id) === withToken));
  // A new tenant doesn't wait for another one's lost token.
  const old = those(true);
  await allEnded([change(those(false)), restore([...old.keys()]).then(() => change(old))]);
  if (signal.aborted) return;
  const left = ids.filter((id) => tenants.get(id)?.settles);
  await settleCalls(left, { ...run, observe: observingTokens(tell) });
  const doubted = ids.filter((id) => tenants.get(id)?.isDoubted);
  await workThrough(each(doubted.map((id) => refreshOf(id, context.now, run))), run);
  if (doubted.length > 0)
    for (const [id, { tokenFingerprint }] of await ledger.records(doubted))
      if (tokenFingerprint !== records.get(id)?.tokenFingerprint) restored(id, { served: RESTORED });
  const rejected = [...tenants.values()].flatMap(({ action }) => (action?.kind === "rejected" ? action : []));
  await recordRejections({ rejected: each(rejected), count: rejected.length, of: new Set(ids) }, run);
  if (signal.aborted) return;
  for (const [id, tenant] of tenants) if (!tenant.isTold) tell(id, endWithoutCall(tenant));
}

function servingOf(
  tenant: Tenant | undefined,
  record: GroupRecord | undefined,
  context: PlanningContext,
): Serving {
  const decision = decide(tenant, record, context);
  const { action } = decision;
  const isUpsert = action?.kind === "create" || action?.kind === "update";
  const isInDoubt = action === null && record?.doubt === "rewind";
  const mayBeAsked = unsafeToAsk(context.update, context.serviceUpdates) === null;
  const doubtful = isInDoubt && !mayBeAsked ? conflict("waiting", inDoubt("rewind")) : undefined;
  const left = tenant || record ? action && whyLeft(action) : { served: UNKNOWN };
  return {
    ...decision,
    left: left ?? doubtful,
    change: isUpsert ? action : undefined,
    isDoubted: isInDoubt && mayBeAsked,
    isTold: false,
  };
}

async function* each<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}

const endWithoutCall = ({ restored, left }: Serving): ServedTenant =>
  restored ?? left ?? { served: UNCHANGED };

/** Takes the events of the work on single tenants: tells how each tenant ended, and passes on what concerns the whole run. */
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
const RESTORED: Served = { kind: "done", outcome: "restored" };
const UNKNOWN: Served = { kind: "unknown" };

/** What becomes of a tenant for whose group the plan makes no call now. */
function whyLeft(entry: PlannedAction): ServedTenant | undefined {
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

/** How a tenant ended, if the event says so. */
function endOf(event: RunEvent): { readonly id: string; readonly served: Served } | undefined {
  switch (event.kind) {
    case "recorded":
      return { id: event.user_group_id, served: { kind: "done", outcome: event.result } };
    case "restored":
    case "rotated":
      return { id: event.user_group_id, served: RESTORED };
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
  readonly keys: Keys;
  /** Ends the run, and the work beside it, with this error: nothing more can be done. */
  readonly fail: (error: unknown) => void;
}

/**
 * Begins work beside an open run, which goes on once this resolves. Resolves to a function that waits for the end of the work. The
 * work may outlast the run, as long as this process keeps the lease, and ends soon after `until` aborts.
 */
export type WorkBeside = (run: ServingRun, until: AbortSignal) => Promise<() => Promise<void>>;
