import { doesUpdate } from "../../core/apply/update-evidence.ts";
import { RemovalSummaryBuilder } from "../../core/deletion/removals.ts";
import { remedyOf } from "../../core/failure/error-codes.ts";
import { isClockDifference, SyncError } from "../../core/failure/sync-error.ts";
import type { GroupRules } from "../../core/group/group-rules.ts";
import { type DeletionPolicy, LIMIT_PERIOD_MS } from "../../core/plan/deletion-policy.ts";
import {
  clockDifference,
  clockLead,
  type GoodSync,
  lastTable,
  longPause,
  nextReading,
  type ReadHistory,
  SHORTEST_LONG_PAUSE_MS,
} from "../../core/plan/read-history.ts";
import { decide, type PlanningContext, type UpdatePolicy } from "../../core/record/decide.ts";
import type { GroupEvent } from "../../core/record/next.ts";
import { durationText, quantity } from "../../core/text/quantity.ts";
import type { Clock } from "../../ports/clock.ts";
import type { LedgerView } from "../../ports/ledger/ledger.ts";
import type { KnownService, RecordedRun, RunReads } from "../../ports/ledger/scope.ts";
import type { Warning } from "../../ports/observer.ts";
import type { OpenSpool } from "../../ports/spool.ts";
import type { TenantSource } from "../../ports/tenant-source.ts";
import type { Plan, PlanEntry } from "./plan.ts";
import { PlanBuilder } from "./plan-builder.ts";
import { type PlanRead, readAll, readSome } from "./read-differences.ts";

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
  /** Also verify that each token store has the token of every group, even if that is not due. */
  readonly verifyTokens?: boolean | undefined;
  /** What the operator says of all these groups. It is in the ledger before the first call. */
  readonly mark?: GroupEvent | undefined;
  /** Only these ids, even if their next attempt is not due. Such a plan deletes no group unless it skips the grace period. */
  readonly only?: ReadonlySet<string> | undefined;
  /** Reads the whole source, and deletes the groups of `only` whose tenants are gone now. */
  readonly skipsGrace?: boolean | undefined;
  /** Nobody has named the ids of `only`: they may be unknown, and a failed change waits until its next attempt is due. */
  readonly isNoticed?: boolean | undefined;
  /** The code by which the operator approves the held removals. */
  readonly approval?: string | undefined;
  /** The code by which the operator approves that a held refresh goes on, although it makes groups again. */
  readonly refreshApproval?: string | undefined;
  /** After this time no token is rotated that an operator wants, in milliseconds. Left out: at any time. */
  readonly wantedMs?: number | undefined;
}

export interface LedgerState {
  readonly service: KnownService;
  readonly history: ReadHistory;
  /** See `longPause`. Only a plan of all tenants asks for it. */
  readonly longPauseMs?: number | null;
  /** See `clockLead`. Only a plan whose removals are made asks for it. */
  readonly hostLeadMs?: number | null;
}

/** The time of this host, without its means to wait. */
export type HostTime = Pick<Clock, "now" | "monotonic">;

/** The table that the last run read, of the described source. Null if the ledger can't tell. */
export const tableBefore = (ledger: Pick<LedgerView, "scope">, source: string): Promise<string | null> =>
  ledger.scope().then(
    ({ history }) => lastTable(history, source),
    () => null,
  );

/** Read once per run, so that the plan and its records use the same state. `now` is the time of this host. */
export async function readLedgerState(
  { ledger, clock }: { readonly ledger: LedgerView; readonly clock: HostTime },
  isWhole = true,
): Promise<Required<LedgerState> & { readonly now: Date }> {
  const now = clock.now();
  const begun = clock.monotonic();
  const { service, history, readAt } = await ledger.scope();
  const tookMs = clock.monotonic() - begun;
  const hostLeadMs = clockLead({ asked: now, tookMs, answer: readAt });
  const longPauseMs = isWhole && hostLeadMs === null ? await readLongPause(ledger, history, now) : null;
  return { now, service, history, longPauseMs, hostLeadMs };
}

/**
 * Reads all tenants and groups, or looks some of them up, and keeps the differences. Changes nothing. The caller closes
 * `entries`.
 * Rejects as the source and the ledger do, and with UNKNOWN_ID if neither of them has an id of `only` that somebody named.
 */
export async function makePlan(
  ports: PlanPorts,
  settings: PlanSettings,
  state: LedgerState,
  now: Date,
  stop: AbortSignal,
  { only, isNoticed = false, approval, ...options }: PlanOptions = {},
): Promise<Plan> {
  const { source, ledger } = ports;
  const { name, rules, deletion } = settings;
  const { service, history } = state;
  const isWhole = only === undefined;
  const lately = new Date(now.getTime() - LIMIT_PERIOD_MS);
  const { count: recent } = await ledger.journalSum(["delete", "replace"], lately);
  const eager = !isWhole && !isNoticed;
  const skipsGrace = !isWhole && options.skipsGrace === true;
  const context = planningContext(settings, state, now, { isWhole, eager, skipsGrace });
  const expected = context.reading;
  const entries = ports.openSpool<PlanEntry>();
  const { baseUrl } = service;
  const removals = new RemovalSummaryBuilder({ name, baseUrl, approvals: history.approvals });
  const builder = new PlanBuilder(entries, removals);
  const visit: PlanRead["visit"] = (tenant, group) => builder.add(tenant, decide(tenant, group, context));
  const read = { source, ledger, service, rules, stop, tableBefore: expected.table, builder, visit };
  try {
    const readsAll = isWhole || skipsGrace;
    const { table, warnings, unknown } = await (readsAll ? readAll(read, only) : readSome(only, read));
    if (unknown.size > 0 && !isNoticed) throw unknownIds(unknown);
    const plan = builder.build(
      { reading: { ...expected, table }, isWhole, skipsGrace, sourceTable: table, warnings, unknown },
      { recent, limit: deletion.limit, approval },
    );
    const kept = context.serviceUpdates === false && settings.update === "upsert" ? keptGroups(plan) : [];
    const clocks = clockWarnings(expected);
    return { ...plan, warnings: [...warnings, ...clocks, ...graceWarnings(plan, state), ...kept] };
  } catch (error) {
    entries.close();
    throw error;
  }
}

/** What the decision about each tenant depends on, beside the tenant and its group. */
export const planningContext = (
  { update, deletion, source }: PlanSettings,
  { service, history, longPauseMs = null, hostLeadMs = null }: LedgerState,
  now: Date,
  which: Pick<PlanningContext, "isWhole" | "eager" | "skipsGrace">,
): PlanningContext => ({
  now,
  update,
  deletion,
  reading: nextReading(history, source, now, { afterLongPause: longPauseMs !== null, hostLeadMs }),
  serviceUpdates: doesUpdate(service.evidence),
  ...which,
});

const clockWarnings = ({ hostLeadMs }: Plan["reading"]): readonly Warning[] =>
  hostLeadMs === null ? [] : [{ kind: "warning", ...clockDifference(hostLeadMs) }];

/** Warns of updates that the service will not make, because a GET leaves an existing group as it is. */
function keptGroups({ counts: { update } }: Plan): readonly Warning[] {
  if (update === 0) return [];
  const message = `${quantity(update, "update")} planned, but a GET doesn't change an existing group at this service: a changed group fails`;
  return [{ kind: "warning", code: "NOT_UPDATED", message, hint: remedyOf("NOT_UPDATED") }];
}

/** Warns if tenants that were missing before a long pause start their grace period anew. */
function graceWarnings({ counts, isWhole }: Plan, { longPauseMs = null }: LedgerState): readonly Warning[] {
  const { missing } = counts;
  if (!isWhole || longPauseMs === null || missing === 0) return [];
  return [
    {
      kind: "warning",
      code: "GRACE_PERIOD_RESTARTED",
      message: `the last good sync ended ${durationText(longPauseMs)} ago, which is far longer than usual, and the tenants of ${quantity(missing, "group")} are missing: they may have been back in between, so their grace period begins anew`,
      hint: "there is nothing to do, unless the ledger was restored from a backup: then run `groupsync sync --verify-tokens` once",
    },
  ];
}

export const unknownIds = (ids: ReadonlySet<string>): SyncError =>
  new SyncError(
    "UNKNOWN_ID",
    `neither the source nor the ledger has ${[...ids].map((id) => JSON.stringify(id)).join(", ")}`,
    {
      hint: "ids are compared byte by byte: check case and spaces, and whether the config's source section selects the row",
    },
  );

/** The syncs of a month, one each five minutes: pauses that come each week are usual. */
const MOST_SYNCS = 10_000;

/**
 * See `longPause`. Reads the whole run history only if there was no sync for some time. A good read counts as a good sync,
 * even if the service failed after it.
 */
export async function readLongPause(
  ledger: RunReads,
  { healthyAt }: Pick<ReadHistory, "healthyAt">,
  now: Date,
): Promise<number | null> {
  const shortAgo = new Date(now.getTime() - SHORTEST_LONG_PAUSE_MS);
  if (healthyAt !== null && healthyAt > shortAgo) return null;
  if (goodSyncs(await ledger.history(shortAgo, MOST_SYNCS, { command: "sync" })).length > 0) return null;
  const syncs = goodSyncs(await ledger.history(new Date(0), MOST_SYNCS, { command: "sync" }));
  const [last] = syncs;
  const isAfterAll = healthyAt !== null && last !== undefined && healthyAt > last.finishedAt;
  return longPause(now, isAfterAll ? [{ startedAt: healthyAt, finishedAt: healthyAt }, ...syncs] : syncs);
}

/** A run that read no valid row, or whose clock can't be trusted, has not recorded which tenants are there, and when. */
const goodSyncs = (runs: readonly RecordedRun[]): GoodSync[] =>
  runs.flatMap(({ startedAt, finishedAt, result }) =>
    finishedAt !== null &&
    result !== null &&
    result.outcome !== "failed" &&
    result.error?.code !== "SOURCE_INCONCLUSIVE" &&
    !(result.error && isClockDifference(result.error))
      ? [{ startedAt, finishedAt }]
      : [],
  );
