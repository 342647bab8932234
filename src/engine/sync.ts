import { asSyncError, interrupted, isInterruption, withHint } from "../core/failure/sync-error.ts";
import type { Change } from "../core/plan/change.ts";
import type { RotationPolicy } from "../core/rotation/rotation-policy.ts";
import type { KnownService } from "../ports/ledger/scope.ts";
import type { OpenSpool } from "../ports/spool.ts";
import type { TenantSource } from "../ports/tenant-source.ts";
import { leasedRun, type Run, type RunPorts, type RunSettings } from "./leased-run.ts";
import { makeChanges } from "./loop/make-changes.ts";
import { removalCheck } from "./loop/removal-check.ts";
import type { Applying } from "./loop/work-through.ts";
import { makePlan, type PlanOptions, type PlanSettings, readLedgerState } from "./plan/make-plan.ts";
import { recordNotes } from "./plan/record-notes.ts";
import { pauseGraceClock, recordRead } from "./plan/record-read.ts";
import { recordRejections, rejectedRows } from "./plan/record-rejections.ts";
import { reportOwed } from "./plan/report-owed.ts";
import { reportGuard, reportPlan } from "./plan/report-plan.ts";
import { refreshGroups } from "./refresh/refresh-groups.ts";
import type { RefreshPolicy } from "./refresh/refresh-start.ts";
import { seekSignOfLife } from "./refresh/sign-of-life.ts";
import type { RunReport } from "./report/run-report.ts";
import { changeAll, Rotations } from "./rotate.ts";
import type { WorkBeside } from "./serving/serve-tenants.ts";
import { lostLedgerWarnings } from "./tokens/lost-ledger.ts";
import { settleCalls } from "./verify/restore-tokens.ts";
import { type VerifySettings, verifyAfterTakeover, verifyTokens } from "./verify/verify-tokens.ts";

export interface SyncPorts extends RunPorts {
  readonly source: TenantSource;
  readonly openSpool: OpenSpool;
}

export interface SyncSettings extends PlanSettings, RunSettings, VerifySettings {
  readonly rotation: RotationPolicy;
  readonly refresh: RefreshPolicy;
}

/** The name in the run history of a sync of some tenants: its record says nothing about the other tenants. */
const ONLY_SOME = "sync --only";

const NEXT_SYNC_GOES_ON = "the answers so far are recorded; the next sync goes on from there";

/**
 * One sync, of all tenants or of those in `only`; see `leasedRun`. Rejects if the sync has ended well, and the work beside it
 * fails afterwards.
 */
export const sync = (
  ports: SyncPorts,
  settings: SyncSettings,
  options: PlanOptions,
  signal: AbortSignal,
  beside?: WorkBeside,
): Promise<RunReport> =>
  leasedRun(
    options.only === undefined ? "sync" : ONLY_SOME,
    ports,
    settings,
    signal,
    async (run, service) => {
      const { only, wantedMs, mark } = options;
      const which = { of: only && [...only], isEager: only !== undefined, wantedMs };
      if (mark) await changeAll(mark, { of: which.of }, run);
      const rotations = new Rotations(which, settings.rotation, run);
      await rotations.count();
      try {
        await syncOnce(ports, settings, options, run, { service, rotations });
      } catch (error) {
        throw isInterruption(asSyncError(error)) ? withHint(NEXT_SYNC_GOES_ON, error) : error;
      } finally {
        if (run.tally.counts.wanted > 0) await rotations.count().catch(() => {});
      }
    },
    beside,
  );

async function syncOnce(
  ports: SyncPorts,
  settings: SyncSettings,
  options: PlanOptions,
  run: Run,
  { service, rotations }: { readonly service: KnownService; readonly rotations: Rotations },
): Promise<void> {
  const { observe } = run;
  const isWhole = options.only === undefined;
  for (const warning of await lostLedgerWarnings(run, service)) observe(warning);

  // A leaked token must not wait until a backfill is done, nor new tenants until all tokens are rotated.
  const turn = isWhole ? await rotations.takeTurn() : 0;

  observe({ kind: "phase", phase: "reading" });
  if (isWhole) run.keys.beginPlan();
  const state = await readLedgerState(run, isWhole);
  const { history, now } = state;
  if (isWhole) await pauseGraceClock(history, run);
  const plan = await makePlan(ports, settings, state, now, run.signal, options);
  if (isWhole) run.keys.planIsMade();
  const removals = removalCheck(ports, settings.rules, plan.sourceTable, run.signal);
  try {
    await reportPlan(plan, run);
    await reportGuard(plan, options, run);
    observe({ kind: "phase", phase: "applying" });
    await recordNotes(plan, history, run);
    await recordRejections(rejectedRows(plan, options.only), run);
    const { failedGets, unaskable } = await verifyTokens(plan, options, settings, now, run);
    const changes = await recordRead(plan, history, failedGets, run);
    for (const id of [...failedGets, ...unaskable]) rotations.tried.add(id);
    await applyInTurns(changes, rotations, { ...run, removals }, turn);
    for (const id of await settleCalls(plan.leftUnderWay, run)) rotations.tried.add(id);
    await rotations.rotateWanted();
    if (isWhole) await rotations.rotateAged(plan.owing > 0);
    // No refresh asks for a group whose copies are unsure. The tokens that it finds may be unsure again.
    await verifyAfterTakeover(run);
    await refreshGroups(plan, options, settings, run);
    await verifyAfterTakeover(run);
    const { silence } = settings.refresh;
    if (isWhole && silence) await seekSignOfLife(plan, undefined, silence, settings, run);
    await reportOwed(plan, options, { ...run, recent: ports.recent });
  } finally {
    await removals.close();
    plan.entries.close();
  }
  if (run.signal.aborted) throw interrupted();
}

/**
 * Makes the changes by turns with the rotation of wanted tokens: as many changes as rotations have begun just before. `turn` is
 * the number of these rotations; 0 once no other can begin.
 */
async function applyInTurns(
  changes: AsyncIterable<Change>,
  rotations: Rotations,
  run: Applying,
  turn: number,
): Promise<void> {
  const left = changes[Symbol.asyncIterator]();
  let isDone = false;
  async function* next(most: number): AsyncGenerator<Change> {
    for (let count = 0; count < most; count++) {
      const result = await left.next();
      isDone = result.done === true;
      if (result.done) return;
      yield result.value;
    }
  }
  for (let most = turn; !isDone && !run.signal.aborted; most = isDone ? 0 : await rotations.takeTurn())
    await makeChanges(next(most || Number.POSITIVE_INFINITY), run);
}
