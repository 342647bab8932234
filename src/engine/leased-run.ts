import { asSyncError, SyncError } from "../core/errors.ts";
import { isUsageMistake } from "../core/outcome.ts";
import type { RateLimit } from "../core/rate-limit.ts";
import { Refusals } from "../core/refusals.ts";
import type { Clock } from "../ports/clock.ts";
import type { Durability } from "../ports/durability.ts";
import type { GroupService } from "../ports/group-service.ts";
import type { KnownService, Ledger } from "../ports/ledger.ts";
import type { Observe, RunSummary } from "../ports/observer.ts";
import type { TokenStore } from "../ports/token-store.ts";
import { Breaker } from "./breaker.ts";
import { checkCommits, warnOfRisks, withCommitsKept } from "./commit-check.ts";
import { type HeldLease, withLease } from "./lease.ts";
import type { LeaseSettings } from "./lease-acquisition.ts";
import { PatientTokens } from "./patient-tokens.ts";
import type { RecentCommits } from "./recent-commits.ts";
import { type RunReport, reportOn } from "./report.ts";
import { Retries } from "./retries.ts";
import { type Run, Tally } from "./run.ts";
import { ServiceIdentity } from "./service-identity.ts";
import { Throttle } from "./throttle.ts";
import { noteMove } from "./token-move.ts";
import { insistOnOwnership, TokenOwners } from "./token-owners.ts";
import { insistOnTables, recordTables } from "./token-tables.ts";

export interface RunPorts {
  readonly service: GroupService;
  readonly tokens: TokenStore;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly observe: Observe;
  readonly durability: Durability;
  /** It outlives the run where the process does. */
  readonly recent: RecentCommits;
}

export interface RunSettings {
  /** The scope. */
  readonly name: string;
  readonly baseUrl: string;
  readonly concurrency: number;
  readonly rateLimit?: RateLimit | undefined;
  readonly lease: LeaseSettings;
  /** Where the tokens are written, in words. */
  readonly tokenPlaces: readonly string[];
}

/**
 * One run of a command that changes the service: under the lease, and in the ledger's history. Whatever goes
 * wrong is in the report; nothing is thrown but mistakes in this program.
 */
export async function leasedRun(
  command: string,
  ports: RunPorts,
  settings: RunSettings,
  signal: AbortSignal,
  body: (run: Run, service: KnownService) => Promise<void>,
): Promise<RunReport> {
  const { ledger, clock, observe } = ports;
  const started = clock.monotonic();
  const tally = new Tally();
  const runUnder = async (lease: HeldLease): Promise<void> => {
    const service = await ledger.service();
    const identity = new ServiceIdentity(service, settings.baseUrl);
    // What still waits for the service or the tokens' store then would only keep this process from ending.
    const ending = AbortSignal.any([signal, lease.lost]);
    const tokens = new PatientTokens(ports.tokens, { clock, observe, signal: ending });
    await insistOnTables({ ledger, tokens });
    const owned = await insistOnOwnership({ ledger, tokens }, settings, service);
    const owners = new TokenOwners(owned, service, { lease, observe });
    const run: Run = {
      ...ports,
      tokens,
      owners,
      lease,
      identity,
      throttle: new Throttle(clock, observe, settings),
      retries: new Retries(settings.concurrency, observe),
      breakers: {
        GET: new Breaker(identity.isKnown),
        POST: new Breaker(false),
        DELETE: new Breaker(false),
      },
      tally,
      refusals: new Refusals(),
      concurrency: settings.concurrency,
      signal: ending,
    };
    await tokens.prepare();
    await owners.claim();
    await warnOfRisks(ports.durability, observe);
    // What the run before this one committed last: another instance may have been at work since.
    await checkCommits(run, lease, clock.now());
    await noteMove(settings.tokenPlaces, run);
    await recordTables(run);
    await withCommitsKept(run, lease, () =>
      body(run, service).catch((thrown: unknown) => {
        if (!lease.lost.aborted) reason = thrown;
        throw thrown;
      }),
    );
  };
  /** Why the body failed while the lease was held. The check of its commits may take longer than the lease lasts. */
  let reason: unknown;
  let error: SyncError | undefined;
  try {
    ports.recent.beginRun(ports.durability);
    await ledger.prepare();
    await withLease(ports, settings.lease, signal, async (lease) => {
      await ledger.migrate(lease);
      // The outer check covers the commit that closes the run's record.
      await withCommitsKept({ ...ports, signal }, lease, () =>
        recorded(command, ports, lease, tally, () => runUnder(lease)),
      );
    });
  } catch (thrown) {
    const first = reason ?? thrown;
    if (!(first instanceof SyncError)) throw first;
    error = first;
  }
  const report = reportOn(tally, clock.monotonic() - started, error);
  observe({ kind: "finished", ...summaryOf(command, report) });
  return report;
}

function summaryOf(
  command: string,
  { outcome, counts, requests, durationMs, error, hold }: RunReport,
): RunSummary {
  const reason = error ?? hold;
  const { code, message, hint } = reason ?? {};
  const failure =
    code === undefined || message === undefined
      ? null
      : { code, message, ...(hint !== undefined && { hint }) };
  return { command, outcome, counts, requests, durationMs, error: failure };
}

/** Keeps the run in the ledger's history, also where it fails; but not where it was a mistake to start it so. */
async function recorded(
  command: string,
  { ledger, clock, observe }: RunPorts,
  lease: HeldLease,
  tally: Tally,
  body: () => Promise<void>,
): Promise<void> {
  const run = await ledger.write(lease, (transaction) => transaction.startRun(command, clock.now()));
  observe({ kind: "started", run });
  const finish = async (error: SyncError | undefined): Promise<void> => {
    if (error && isUsageMistake(error)) {
      await ledger.write(lease, (transaction) => transaction.discardRun(run));
      return;
    }
    const { outcome, counts, requests } = reportOn(tally, 0, error);
    const reason = error ?? tally.hold;
    const failure = reason ? { code: reason.code, message: reason.message } : null;
    const result = { outcome, counts, requests, error: failure };
    await ledger.write(lease, (transaction) => transaction.finishRun(run, result, clock.now()));
  };
  try {
    await body();
  } catch (thrown) {
    const error = asSyncError(thrown);
    // The first error is the one that matters: a ledger that is gone can't record it either.
    await finish(error).catch(() => {});
    throw thrown;
  }
  await finish(undefined);
}
