import { describe, SyncError } from "../core/errors.ts";
import type { RateLimit } from "../core/rate-limit.ts";
import type { Clock } from "../ports/clock.ts";
import type { GroupService } from "../ports/group-service.ts";
import type { KnownService, Ledger } from "../ports/ledger.ts";
import type { Observe } from "../ports/observer.ts";
import type { OpenSpool } from "../ports/spool.ts";
import type { TenantSource } from "../ports/tenant-source.ts";
import type { TokenStore } from "../ports/token-store.ts";
import { applyChanges } from "./apply.ts";
import { Breaker } from "./breaker.ts";
import { recordEvidence, suspendClock } from "./evidence.ts";
import { interrupted } from "./interrupted.ts";
import { type HeldLease, type LeaseSettings, withLease } from "./lease.ts";
import { recordNotes } from "./notes.ts";
import { changesOf } from "./plan.ts";
import { type PlanOptions, type PlanSettings, planRun, readLedgerState } from "./plan-run.ts";
import { type RunReport, reportOn } from "./report.ts";
import { reportClearance, reportPlan } from "./report-plan.ts";
import { type Run, Tally } from "./run.ts";
import { ServiceIdentity } from "./service-identity.ts";
import { Throttle } from "./throttle.ts";

export interface SyncPorts {
  readonly source: TenantSource;
  readonly service: GroupService;
  readonly tokens: TokenStore;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly openSpool: OpenSpool;
  readonly observe: Observe;
}

export interface SyncSettings extends PlanSettings {
  readonly baseUrl: string;
  readonly concurrency: number;
  readonly rateLimit?: RateLimit | undefined;
  readonly lease: LeaseSettings;
}

/** One full sync. Whatever goes wrong is in the report; nothing is thrown but mistakes in this program. */
export async function sync(
  ports: SyncPorts,
  settings: SyncSettings,
  options: PlanOptions,
  signal: AbortSignal,
): Promise<RunReport> {
  const started = ports.clock.monotonic();
  const tally = new Tally();
  let error: SyncError | undefined;
  try {
    await ports.ledger.prepare();
    await withLease(ports.ledger, ports.clock, settings.lease, signal, (lease) =>
      recorded(ports, lease, tally, () => syncUnderLease(ports, settings, options, lease, tally, signal)),
    );
  } catch (thrown) {
    if (!(thrown instanceof SyncError)) throw thrown;
    error = thrown;
  }
  return reportOn(tally, ports.clock.monotonic() - started, error);
}

async function syncUnderLease(
  ports: SyncPorts,
  settings: SyncSettings,
  options: PlanOptions,
  lease: HeldLease,
  tally: Tally,
  signal: AbortSignal,
): Promise<void> {
  const { ledger, clock, observe } = ports;
  const state = await readLedgerState(ledger);
  const run: Run = {
    ...ports,
    lease,
    identity: new ServiceIdentity(state.service, settings.baseUrl),
    throttle: new Throttle(clock, observe, settings.rateLimit),
    breaker: new Breaker(),
    tally,
    concurrency: settings.concurrency,
    signal,
  };
  await ports.tokens.prepare();
  await warnOfLostLedger(ports, state.service);

  observe({ kind: "phase", phase: "reading" });
  const now = clock.now();
  if (options.only === undefined) await suspendClock(state.evidence, run);
  const plan = await planRun(ports, settings, state, now, options);
  try {
    await reportPlan(plan, run);
    await reportClearance(plan, options, run);
    observe({ kind: "phase", phase: "applying" });
    await recordNotes(plan, state.evidence, run);
    await recordEvidence(plan, state.evidence, run);
    await applyChanges(changesOf(plan), run);
  } finally {
    plan.entries.close();
  }
  if (signal.aborted) throw interrupted();
}

/** Keeps the run in the ledger's history, also where it fails. */
async function recorded(
  { ledger, clock, observe }: SyncPorts,
  lease: HeldLease,
  tally: Tally,
  body: () => Promise<void>,
): Promise<void> {
  const run = await ledger.write(lease, (transaction) => transaction.startRun("sync", clock.now()));
  observe({ kind: "started", run });
  const finish = async (error: SyncError | undefined): Promise<void> => {
    const { outcome, counts, requests } = reportOn(tally, 0, error);
    const reason = error ?? tally.hold;
    const failure = reason ? { code: reason.code, message: reason.message } : null;
    const result = { outcome, counts, requests, error: failure };
    await ledger.write(lease, (transaction) => transaction.finishRun(run, result, clock.now()));
  };
  try {
    await body();
  } catch (thrown) {
    const error = thrown instanceof SyncError ? thrown : new SyncError("INTERNAL", describe(thrown));
    // The first error is the one that matters: a ledger that is gone can't record it either.
    await finish(error).catch(() => {});
    throw thrown;
  }
  await finish(undefined);
}

/** Tokens without a ledger: it was lost, or points elsewhere. What they belong to is adopted. */
async function warnOfLostLedger({ tokens, observe }: SyncPorts, known: KnownService): Promise<void> {
  if (known.baseUrl !== null || !(await tokens.holdsAny())) return;
  observe({
    kind: "warning",
    code: "LEDGER_EMPTY",
    message: "the ledger is empty, but the token store already holds tokens",
    hint: "the groups that exist are adopted; if a ledger was there before, check ledger.url, ledger.table_prefix and name",
  });
}
