import type { UpdatePolicy } from "../core/decide.ts";
import { describe, SyncError } from "../core/errors.ts";
import type { RateLimit } from "../core/rate-limit.ts";
import type { GroupRules } from "../core/rule.ts";
import type { Clock } from "../ports/clock.ts";
import type { GroupService } from "../ports/group-service.ts";
import type { KnownService, Ledger } from "../ports/ledger.ts";
import type { Observe } from "../ports/observer.ts";
import type { OpenSpool } from "../ports/spool.ts";
import type { TenantSource } from "../ports/tenant-source.ts";
import type { TokenStore } from "../ports/token-store.ts";
import { applyChanges } from "./apply.ts";
import { Breaker } from "./breaker.ts";
import { interrupted } from "./interrupted.ts";
import { type HeldLease, type LeaseSettings, withLease } from "./lease.ts";
import { recordNotes } from "./notes.ts";
import { changesOf, type Plan, planRun } from "./plan.ts";
import { type RunReport, reportOn } from "./report.ts";
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

export interface SyncSettings {
  readonly rules: GroupRules;
  readonly update: UpdatePolicy;
  readonly baseUrl: string;
  readonly concurrency: number;
  readonly rateLimit?: RateLimit | undefined;
  readonly lease: LeaseSettings;
}

export interface SyncOptions {
  /** These ids alone, whether or not their next try is due. */
  readonly only?: ReadonlySet<string> | undefined;
}

/** One full sync. Whatever goes wrong is in the report; nothing is thrown but mistakes in this program. */
export async function sync(
  ports: SyncPorts,
  settings: SyncSettings,
  options: SyncOptions,
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
  { only }: SyncOptions,
  lease: HeldLease,
  tally: Tally,
  signal: AbortSignal,
): Promise<void> {
  const { ledger, clock, observe } = ports;
  const known = await ledger.service();
  const run: Run = {
    ...ports,
    lease,
    identity: new ServiceIdentity(known, settings.baseUrl),
    throttle: new Throttle(clock, observe, settings.rateLimit),
    breaker: new Breaker(),
    tally,
    concurrency: settings.concurrency,
    signal,
  };
  await ports.tokens.prepare();
  await warnOfLostLedger(ports, known);
  if (settings.update === "replace") warnOfNoReplacing(ports);

  observe({ kind: "phase", phase: "reading" });
  const context = {
    now: clock.now(),
    update: settings.update,
    serviceUpdates: known.updates,
    eager: only !== undefined,
  };
  const plan = await planRun(ports, settings.rules, context, { only, ledgerIsNew: known.baseUrl === null });
  try {
    await tellPlan(plan, run);
    observe({ kind: "phase", phase: "applying" });
    await recordNotes(plan, run);
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
    const failure = error ? { code: error.code, message: error.message } : null;
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

const warnOfNoReplacing = ({ observe }: SyncPorts): void =>
  observe({
    kind: "warning",
    code: "NOT_IN_THIS_VERSION",
    message:
      "service.update is replace, which this version doesn't do yet: changed groups are sent as with upsert",
    hint: "set it to upsert, or to never where changed groups should be left alone",
  });

async function tellPlan(plan: Plan, { tally, observe }: Run): Promise<void> {
  const { counts } = tally;
  counts.unchanged = plan.unchanged;
  counts.outdated = plan.counts.outdated;
  counts.rejected = plan.counts.rejected;
  counts.failed = plan.counts.waiting;
  observe({
    kind: "planned",
    changes: plan.counts.create + plan.counts.update,
    unchanged: plan.unchanged,
    missing: plan.counts.missing,
  });
  if (plan.counts.rejected + plan.counts.waiting === 0) return;
  for await (const batch of plan.entries.read()) {
    for (const entry of batch) {
      if (entry.kind === "rejected") {
        tally.report(entry.user_group_id, entry);
        observe({ kind: "rejected", tenant: entry });
      } else if (entry.kind === "waiting") {
        const { user_group_id, code, message, retryAt } = entry;
        tally.report(user_group_id, { code, message: `${message} (next try after ${retryAt})` });
      }
    }
  }
}
