import type { Change } from "../core/change.ts";
import { interrupted } from "../core/interrupted.ts";
import type { RotationPolicy } from "../core/rotation.ts";
import type { KnownService } from "../ports/ledger.ts";
import type { OpenSpool } from "../ports/spool.ts";
import type { TenantSource } from "../ports/tenant-source.ts";
import { applyChanges } from "./apply.ts";
import { recordEvidence, suspendClock } from "./evidence.ts";
import { leasedRun, type RunPorts, type RunSettings } from "./leased-run.ts";
import { lostLedgerWarnings } from "./lost-ledger.ts";
import { recordNotes } from "./notes.ts";
import { changesOf } from "./plan.ts";
import { type PlanOptions, type PlanSettings, planRun } from "./plan-run.ts";
import type { RunReport } from "./report.ts";
import { reportClearance, reportPlan } from "./report-plan.ts";
import { tellUnaskable } from "./restore.ts";
import { rotateDueTokens } from "./rotate.ts";
import type { Run } from "./run.ts";
import { settleTokens } from "./settle-tokens.ts";
import { verifyTokens } from "./verify-tokens.ts";

export interface SyncPorts extends RunPorts {
  readonly source: TenantSource;
  readonly openSpool: OpenSpool;
}

export interface SyncSettings extends PlanSettings, RunSettings {
  readonly rotation: RotationPolicy;
}

/** A run that looked at some tenants alone says nothing of the others: the history has it under a name of its own. */
const ONLY_SOME = "sync --only";

/** One full sync, from the lease to the record of it; see `leasedRun`. */
export const sync = (
  ports: SyncPorts,
  settings: SyncSettings,
  options: PlanOptions,
  signal: AbortSignal,
): Promise<RunReport> =>
  leasedRun(options.only === undefined ? "sync" : ONLY_SOME, ports, settings, signal, (run, service) =>
    syncOnce(ports, settings, options, run, service),
  );

async function syncOnce(
  ports: SyncPorts,
  settings: SyncSettings,
  options: PlanOptions,
  run: Run,
  service: KnownService,
): Promise<void> {
  const { observe, clock } = run;
  const isWhole = options.only === undefined;
  const state = { service, evidence: await run.ledger.evidence() };
  for (const warning of await lostLedgerWarnings(run, service)) observe(warning);

  observe({ kind: "phase", phase: "reading" });
  const now = clock.now();
  if (isWhole) await suspendClock(state.evidence, run);
  const plan = await planRun(ports, settings, state, now, run.signal, options);
  try {
    await reportPlan(plan, run);
    await reportClearance(plan, options, run);
    observe({ kind: "phase", phase: "applying" });
    await recordNotes(plan, state.evidence, run);
    // After recordNotes, because it marks who came back. Before recordEvidence, because a recorded answer would clear the
    // hold that recordEvidence writes.
    const { inVain, unaskable } = await verifyTokens(plan, options, settings.tokenPlaces, run);
    await recordEvidence(plan, state.evidence, run);
    await applyChanges(without(inVain, changesOf(plan)), run);
    const lacking = await tellUnaskable(unaskable, run);
    const unsettled = await settleTokens(plan.leftUnderWay, { isEager: !isWhole }, run);
    const failed = new Set([...inVain, ...lacking, ...unsettled]);
    if (isWhole) await rotateDueTokens(settings.rotation, failed, run);
  } finally {
    plan.entries.close();
  }
  if (run.signal.aborted) throw interrupted();
}

/** A group that has just been asked for in vain has its next try in the next sync. */
async function* without(ids: ReadonlySet<string>, changes: AsyncIterable<Change>): AsyncGenerator<Change> {
  for await (const change of changes) if (!ids.has(change.user_group_id)) yield change;
}
