import {
  asSyncError,
  isInterruption,
  isUsageMistake,
  SyncError,
  withoutCause,
} from "../core/failure/sync-error.ts";
import type { RateLimit } from "../core/limits/rate-limit.ts";
import type { RecentWrites } from "../core/record/recent-writes.ts";
import { fanOut } from "../core/report/fan-out.ts";
import { StoreOutageDetector } from "../core/tokens/store-outage-detector.ts";
import type { Clock } from "../ports/clock.ts";
import type { GroupService } from "../ports/group-service.ts";
import type { DurabilityRisk, Ledger } from "../ports/ledger/ledger.ts";
import type { KnownService } from "../ports/ledger/scope.ts";
import type { Observe, RunSummary } from "../ports/observer.ts";
import type { TokenStore } from "../ports/token-store.ts";
import type { LeaseSettings } from "./lease/acquire-lease.ts";
import { Keys } from "./lease/keys.ts";
import { type HeldLease, withLease } from "./lease/lease.ts";
import { keepLostWrites, recordLostWrites } from "./lease/lost-writes.ts";
import { Committer } from "./loop/committer.ts";
import { type RunReport, reasonOf, reportOn } from "./report/run-report.ts";
import { Tally } from "./report/tally.ts";
import { insistOnScope } from "./scope/scope.ts";
import { Breaker } from "./service/breaker.ts";
import { NeutralRequests } from "./service/neutral-requests.ts";
import { ServiceIdentity } from "./service/service-identity.ts";
import { Throttle } from "./service/throttle.ts";
import type { ServingRun, WorkBeside } from "./serving/serve-tenants.ts";
import { DestinationOwners, insistOnOwnership } from "./tokens/destination-owners.ts";
import { detectIncompleteDestinations } from "./tokens/moved-destinations.ts";
import { insistOnTables, recordTables } from "./tokens/token-tables.ts";

export interface RunPorts {
  readonly service: GroupService;
  readonly tokens: TokenStore;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly observe: Observe;
  /** Whether the databases of the ledger and the tokens keep what was committed. Rejects as databases do. */
  readonly durabilityRisks: () => Promise<readonly DurabilityRisk[]>;
  /** Shared by all runs of a process. */
  readonly recent: RecentWrites;
}

export interface RunSettings {
  /** The scope. */
  readonly name: string;
  readonly baseUrl: string;
  readonly concurrency: number;
  readonly rateLimit?: RateLimit | undefined;
  readonly lease: LeaseSettings;
  /** Describes where the tokens are written. */
  readonly tokenDestinations: readonly string[];
}

/** What the steps of one run share. Each step names the parts of it that it needs. */
export type Run = ServingRun;

/**
 * Runs a command that changes the service: takes the lease, and records the run in the ledger's history. If the run fails,
 * checks that the ledger has kept what was committed. A SyncError is returned in the report. Any other error is a bug in this
 * program, and is thrown.
 */
export async function leasedRun(
  command: string,
  given: RunPorts,
  settings: RunSettings,
  signal: AbortSignal,
  body: (run: Run, service: KnownService) => Promise<void>,
  beside?: WorkBeside,
): Promise<RunReport> {
  // An observer that throws must not end the run. Its error needs no report here: compose/observer.ts has reported it.
  const observe = fanOut([given.observe], () => {});
  const ports = { ...given, observe };
  const { ledger, clock } = ports;
  const started = clock.monotonic();
  const tally = new Tally();
  // Why the body failed while the lease was held. Report this error, even if the run's record then fails too.
  let bodyError: unknown;
  const bodyFailed = new AbortController();
  /** Aborts if anything beside the body has failed that the run can't go on without. */
  const failing = new AbortController();
  const fail = (error: unknown): void => failing.abort(error);
  /** Waits for the work beside the run. Undefined if there is none, and until it has begun. */
  let besideEnded: (() => Promise<void>) | undefined;
  /** Undefined until the run is open. */
  let identity: ServiceIdentity | undefined;
  let report: RunReport | undefined;
  /** As the run's record has it, so that the report and `status` tell the same. Undefined if the run never began. */
  let recordedMs: number | undefined;
  /** Tells a run that ended because of a failure, or because another instance asked for the lease, from one told to stop. */
  const reasonOfEnd = (thrown: unknown, { wanted }: HeldLease): unknown => {
    if (!(thrown instanceof SyncError && isInterruption(thrown)) || signal.aborted) return thrown;
    if (failing.signal.aborted) return failing.signal.reason;
    return wanted.aborted ? wanted.reason : thrown;
  };
  const finish = (error?: SyncError): RunReport => {
    const report = reportOn(tally, recordedMs ?? clock.monotonic() - started, error);
    observe({ kind: "finished", ...summaryOf(command, report) });
    return report;
  };
  const runUnder = async (lease: HeldLease): Promise<void> => {
    const { service } = await ledger.scope();
    const ending = AbortSignal.any([signal, failing.signal]);
    const run = { ...(await openRun(ports, settings, { service, lease, tally, signal: ending })), fail };
    identity = run.identity;
    await warnOfRisks(ports, observe);
    await recordTables(run);
    besideEnded = await beside?.(run, AbortSignal.any([run.signal, bodyFailed.signal]));
    try {
      await body(run, service);
      // The body may have had nothing to do with what has failed.
      failing.signal.throwIfAborted();
    } catch (thrown) {
      if (!lease.lost.aborted) bodyError = reasonOfEnd(thrown, lease);
      throw thrown;
    }
  };
  /** Records the run, and then waits for the work beside it. */
  const recordedRun = async (lease: HeldLease): Promise<void> => {
    const run = (): Promise<void> =>
      runUnder(lease).catch((thrown: unknown) => {
        throw reasonOfEnd(thrown, lease);
      });
    let recordLaterDrift = async (): Promise<void> => {};
    try {
      recordLaterDrift = await recorded(command, ports, lease, tally, run, {
        identity: () => identity,
        onEnd: (ms) => {
          recordedMs = ms;
        },
      });
      // The work beside the run may go on for hours.
      if (besideEnded) report = finish();
    } catch (thrown) {
      bodyFailed.abort();
      await besideEnded?.().catch(() => {});
      throw thrown;
    }
    await besideEnded?.().finally(recordLaterDrift);
  };
  const formerEpoch = ports.recent.epoch;
  try {
    await ledger.prepare();
    await withLease(ports, settings.lease, signal, async (lease) => {
      const doubt = await recordLostWrites(ports, lease);
      if (doubt) observe({ kind: "warning", ...withoutCause(doubt) });
      await insistOnScope(ports);
      await recordedRun(lease);
    });
  } catch (thrown) {
    // The run has ended well, and the work beside it hasn't.
    if (report !== undefined) throw thrown;
    const first = bodyError ?? thrown;
    if (!(first instanceof SyncError)) throw first;
    const hasWritten = ports.recent.epoch !== formerEpoch;
    return finish(hasWritten ? await keepLostWrites(ports, settings.lease, signal, first) : first);
  }
  return report ?? finish();
}

/** Warns about settings with which a database may lose commits in a crash. */
async function warnOfRisks({ durabilityRisks }: RunPorts, observe: Observe): Promise<void> {
  for (const { setting, safe } of await durabilityRisks()) {
    observe({
      kind: "warning",
      code: "COMMITS_AT_RISK",
      message: `the database has ${setting}: a crash of its server takes back what it committed last, and a rotated token may be lost`,
      hint: `set ${safe}, or run \`groupsync sync --refresh\` after each crash`,
      isStanding: true,
    });
  }
}

interface RunParts {
  readonly service: KnownService;
  readonly lease: HeldLease;
  readonly tally: Tally;
  readonly signal: AbortSignal;
}

/** Checks that the service and the token destinations belong to this config, and prepares the destinations. */
async function openRun(
  ports: RunPorts,
  settings: RunSettings,
  { service, lease, tally, signal }: RunParts,
): Promise<Omit<Run, "fail">> {
  const { ledger, tokens, clock, observe } = ports;
  const identity = new ServiceIdentity(service, settings.baseUrl);
  // Once the lease is lost or wanted, nothing may keep this process waiting for the service or a token store.
  const ending = AbortSignal.any([signal, lease.lost, lease.wanted]);
  await insistOnTables({ ledger, tokens });
  const owned = await insistOnOwnership({ ledger, tokens }, settings, service);
  const owners = new DestinationOwners(owned, service, { lease, observe });
  await tokens.prepare(ending);
  // Before the owner's mark is written: its absence tells that a secret store has lost everything.
  await detectIncompleteDestinations(settings.tokenDestinations, { ledger, lease, tokens, observe });
  await owners.claim();
  const calling = {
    ...ports,
    lease,
    tally,
    throttle: new Throttle(clock, observe, settings),
    storing: new Map<string, string>(),
    breakers: {
      GET: new Breaker(identity.isKnown),
      POST: new Breaker(false),
      DELETE: new Breaker(false),
    },
    signal: ending,
  };
  const { concurrency } = settings;
  return {
    ...calling,
    neutral: new NeutralRequests(calling),
    committer: new Committer({ ...calling, identity, concurrency }),
    owners,
    identity,
    isForSingleTenants: false,
    removals: { isStillRight: async () => true },
    keys: new Keys(),
    refusals: new StoreOutageDetector(),
    concurrency,
  };
}

function summaryOf(
  command: string,
  { outcome, counts, requests, durationMs, ...report }: RunReport,
): RunSummary {
  const reason = reasonOf(report);
  return { command, outcome, counts, requests, durationMs, error: reason ? withoutCause(reason) : null };
}

interface RunEnd {
  /** Undefined if the run was never open. */
  readonly identity: () => ServiceIdentity | undefined;
  readonly onEnd: (durationMs: number) => void;
}

/**
 * Records the run in the ledger's history, even if it fails, and tells its duration. Discards a run that a usage mistake
 * ended. Returns what records the drift that the work beside it has found after the run.
 */
async function recorded(
  command: string,
  { ledger, clock, observe }: RunPorts,
  lease: HeldLease,
  tally: Tally,
  body: () => Promise<void>,
  { identity, onEnd }: RunEnd,
): Promise<() => Promise<void>> {
  const startedAt = clock.now();
  const started = clock.monotonic();
  // The clock may be set during the run.
  const now = (): Date => new Date(startedAt.getTime() + clock.monotonic() - started);
  const run = await ledger.write(lease, (transaction) => transaction.startRun(command, startedAt));
  observe({ kind: "started", run });
  const finish = async (error: SyncError | undefined, at = now()): Promise<void> => {
    onEnd(at.getTime() - startedAt.getTime());
    if (error && isUsageMistake(error))
      return ledger.write(lease, (transaction) => transaction.finishRun(run, null, at));
    const { outcome, counts, requests, ...report } = reportOn(tally, 0, error);
    const reason = reasonOf(report);
    const failure = reason ? { code: reason.code, message: reason.message } : null;
    const result = { outcome, counts, requests, error: failure };
    const answeredAt = identity()?.unrecordedAnswer;
    await ledger.write(lease, async (transaction) => {
      if (answeredAt) await transaction.recordScope({ answeredAt });
      await transaction.finishRun(run, result, at);
    });
    if (answeredAt) identity()?.answerRecorded(answeredAt);
  };
  try {
    await body();
  } catch (thrown) {
    const error = asSyncError(thrown);
    // Keep the first error: if the ledger is unavailable, recording the error fails as well.
    await finish(error).catch(() => {});
    throw thrown;
  }
  const finishedAt = now();
  const found = tally.drift;
  await finish(undefined, finishedAt);
  return async () => {
    if (tally.drift > found) await finish(undefined, finishedAt);
  };
}

/** For a run that stores no token: it has no destination, so it makes no table there and claims none. */
export const NO_TOKENS: TokenStore = {
  destinations: [],
  prepare: async () => {},
  inspect: async () => {},
  read: async () => new Map(),
  lagging: async () => new Map(),
};
