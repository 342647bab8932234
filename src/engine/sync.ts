import { interrupted } from "../core/interrupted.ts";
import type { RotationPolicy } from "../core/rotation.ts";
import type { KnownService } from "../ports/ledger.ts";
import type { OpenSpool } from "../ports/spool.ts";
import type { TenantSource } from "../ports/tenant-source.ts";
import { applyChanges } from "./apply.ts";
import { recordEvidence, suspendClock } from "./evidence.ts";
import { leasedRun, type RunPorts, type RunSettings } from "./leased-run.ts";
import { recordNotes } from "./notes.ts";
import { changesOf } from "./plan.ts";
import { type PlanOptions, type PlanSettings, planRun } from "./plan-run.ts";
import type { RunReport } from "./report.ts";
import { reportClearance, reportPlan } from "./report-plan.ts";
import { rotateDueTokens } from "./rotate.ts";
import type { Run } from "./run.ts";
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
  await warnOfLostLedger(run, service);

  observe({ kind: "phase", phase: "reading" });
  const now = clock.now();
  if (isWhole) await suspendClock(state.evidence, run);
  const plan = await planRun(ports, settings, state, now, options);
  try {
    await reportPlan(plan, run);
    await reportClearance(plan, options, run);
    observe({ kind: "phase", phase: "applying" });
    await recordNotes(plan, state.evidence, run);
    // By now it is noted who came back; and what is held, an answer for its group would unmark.
    await verifyTokens(options, settings.tokenPlaces, run);
    await recordEvidence(plan, state.evidence, run);
    await applyChanges(changesOf(plan), run);
  } finally {
    plan.entries.close();
  }
  if (isWhole) await rotateDueTokens(settings.rotation, run);
  if (run.signal.aborted) throw interrupted();
}

/** Tokens without a ledger: it was lost, or points elsewhere. What they belong to is adopted. */
async function warnOfLostLedger({ tokens, observe }: Run, known: KnownService): Promise<void> {
  if (known.baseUrl !== null || !(await tokens.holdsAny())) return;
  observe({
    kind: "warning",
    code: "LEDGER_EMPTY",
    message: "the ledger is empty, but the token store already holds tokens",
    hint: "the groups that exist are adopted; if a ledger was there before, check ledger.url, ledger.table_prefix and name",
  });
}
