import { describeHeldRemovals } from "../../core/deletion/removals.ts";
import { SyncError } from "../../core/failure/sync-error.ts";
import type { ResolvedTables } from "../../core/report/tables-text.ts";
import {
  dueBefore,
  mayStart,
  type RotationCandidate,
  type RotationPolicy,
} from "../../core/rotation/rotation-policy.ts";
import { quantity } from "../../core/text/quantity.ts";
import { shownTable } from "../../core/tokens/destination.ts";
import type { RotationReads } from "../../ports/ledger/groups.ts";
import type { LedgerView } from "../../ports/ledger/ledger.ts";
import type { KnownService } from "../../ports/ledger/scope.ts";
import type { Warning } from "../../ports/observer.ts";
import type { TokenStore } from "../../ports/token-store.ts";
import {
  type HostTime,
  makePlan,
  type PlanPorts,
  type PlanSettings,
  readLedgerState,
} from "../plan/make-plan.ts";
import { changeCount, changeCounts, missingCount, type Plan } from "../plan/plan.ts";
import { type RefreshPolicy, type RefreshStart, startOfRefresh } from "../refresh/refresh-start.ts";
import { rotationCandidates } from "../rotation/rotation-selection.ts";
import { ServiceIdentity } from "../service/service-identity.ts";
import { insistOnOwnership } from "../tokens/destination-owners.ts";
import {
  areSameDestinations,
  insistOnTables,
  lostLedgerWarnings,
  tokenTables,
} from "../tokens/moved-destinations.ts";
import { untrackedWarnings } from "../verify/verify-tokens.ts";

/** What `plan` and `check` look at. They have no way to call the service. */
export interface ForecastSetup {
  readonly ports: PlanPorts;
  readonly settings: PlanSettings;
  readonly rotation: RotationPolicy;
  readonly refresh: RefreshPolicy;
  readonly tokens: Pick<TokenStore, "inspect" | "destinations">;
  /** The token destinations, for people to read. */
  readonly tokenDestinations: readonly string[];
  readonly baseUrl: string;
  readonly clock: HostTime;
}

/** What a sync would meet now. Whoever asks for it closes the plan's entries. */
export interface SyncForecast {
  readonly plan: Plan;
  readonly tables: ResolvedTables;
  readonly rotations: DueRotations;
  /** How the refresh of a sync would start, by `service.refresh`; null if no group is due to be asked for again. */
  readonly refresh: Pick<RefreshStart, "due" | "unsafe" | "hold"> | null;
  /**
   * Destinations in which a sync would check every token and write the missing ones. Empty if no token can be missing.
   */
  readonly tokensMayBeMissingIn: readonly string[];
  /** Why a sync would fail. */
  readonly failures: readonly SyncError[];
  /** What a sync would warn of. Empty if it would fail. */
  readonly warnings: readonly Warning[];
}

/** Plans a sync of all tenants or of `only`. Sends nothing to the service, changes nothing. Rejects as `makePlan` does. */
export async function forecastSync(
  { ports, settings, rotation, refresh: policy, clock, ...setup }: ForecastSetup,
  only: ReadonlySet<string> | undefined,
  stop: AbortSignal,
): Promise<SyncForecast> {
  const { ledger } = ports;
  const { tokens, tokenDestinations } = setup;
  const state = await readLedgerState({ ledger, clock }, await ledger.service(), only === undefined);
  const { service, now } = state;
  const plan = await makePlan(ports, settings, state, now, stop, { only });
  try {
    const looksAtAll =
      plan.isWhole &&
      !(await areSameDestinations((await ledger.tokenDestinations()) ?? [], tokenDestinations));
    const failures = await predictedFailures({ ledger, service, name: settings.name, ...setup });
    const refresh = await startOfRefresh(
      plan,
      {},
      { ...settings, refresh: policy },
      { ledger, updates: service.updates, now, isRecorded: false },
    );
    return {
      plan,
      tables: {
        source: plan.sourceTable,
        // If the tables can't be found, `failures` has the reason.
        tokens: (await tokenTables(tokens).catch(() => [])).map(shownTable),
        ledger: await ledger.ownTables(),
      },
      rotations: plan.isWhole ? await dueRotations(ledger, rotation, now) : NO_ROTATIONS,
      refresh,
      // Without a group, no token can be missing.
      tokensMayBeMissingIn: looksAtAll && (await ledger.existingCount({})) > 0 ? tokenDestinations : [],
      failures,
      warnings:
        failures.length > 0
          ? []
          : [
              ...plan.warnings,
              ...(await lostLedgerWarnings({ ledger, tokens }, service)),
              ...(looksAtAll ? await untrackedWarnings(plan, { ledger, tokens }) : []),
              ...(refresh?.unsafe ? [refresh.unsafe] : []),
            ],
    };
  } catch (error) {
    plan.entries.close();
    throw error;
  }
}

/** How much a sync would do, and what it would leave alone, for people; null if there is nothing to say. */
export function forecastNumbers({
  plan,
  rotations,
}: Pick<SyncForecast, "plan" | "rotations">): string | null {
  const { counts, unchanged, guard } = plan;
  const changes = changeCounts(plan);
  const left = [
    [guard.kind === "allowed" ? 0 : describeHeldRemovals(guard).count, "held"],
    [missingCount(plan), "missing"],
    [counts.gone, "gone"],
    [counts.outdated, "outdated"],
    [plan.notReady, "not ready"],
    [counts.waiting + rotations.waiting.length, "waiting for the next try"],
    [counts.rejected, "rejected"],
  ] as const;
  const later = rotations.total - rotations.count - rotations.waiting.length;
  const laterIn = rotations.isTime ? "later syncs" : "rotation.window";
  const more = [
    ...(later > 0 ? [`${quantity(later, "token")} to rotate in ${laterIn}`] : []),
    ...left.flatMap(([count, what]) => (count > 0 ? [`${count} ${what}`] : [])),
  ];
  if (changeCount(plan) + rotations.count + more.length === 0) return null;
  return [
    `${changes.create} to create`,
    `${changes.update} to update`,
    ...(changes.replace > 0 ? [`${changes.replace} to replace`] : []),
    `${changes.delete} to delete`,
    ...(rotations.count > 0 ? [`${quantity(rotations.count, "token")} to rotate`] : []),
    `${unchanged} unchanged`,
    ...more,
  ].join(", ");
}

export interface SyncConditions {
  readonly ledger: Pick<LedgerView, "inspect" | "id" | "tokenTables">;
  readonly tokens: Pick<TokenStore, "inspect" | "destinations">;
  readonly service: KnownService;
  readonly name: string;
  readonly baseUrl: string;
}

/** Every known reason why a sync would fail now, in the order in which the sync would meet them. Sends no request. */
export const predictedFailures = (inputs: SyncConditions): Promise<readonly SyncError[]> =>
  broken([
    () => inputs.ledger.inspect(),
    () => new ServiceIdentity(inputs.service, inputs.baseUrl),
    ...destinationConditions(inputs),
    () => inputs.tokens.inspect(),
  ]);

/** Why a sync would fail because tokens have moved, or belong to another config. */
export const destinationFailures = (inputs: SyncConditions): Promise<readonly SyncError[]> =>
  broken(destinationConditions(inputs));

/** What a sync insists on before it changes anything. Throws or rejects with the error that the sync would end with. */
type Condition = () => unknown;

const destinationConditions = ({
  ledger,
  tokens,
  service,
  name,
  baseUrl,
}: SyncConditions): readonly Condition[] => [
  () => insistOnTables({ ledger, tokens }),
  // If base_url has changed, `ServiceIdentity` has reported it; an ownership error would repeat it.
  () =>
    (service.baseUrl ?? baseUrl) === baseUrl &&
    insistOnOwnership({ ledger, tokens }, { name, baseUrl }, service),
];

/** The errors of all conditions that don't hold, in their order. */
async function broken(conditions: readonly Condition[]): Promise<readonly SyncError[]> {
  const failures: SyncError[] = [];
  for (const condition of conditions) {
    try {
      await condition();
    } catch (error) {
      if (!(error instanceof SyncError)) throw error;
      // Several conditions may fail because of one table.
      if (!failures.some(({ message }) => message === error.message)) failures.push(error);
    }
  }
  return failures;
}

/** Tokens that are older than `rotation.max_age`, and which of them a sync would rotate now. */
export interface DueRotations {
  readonly total: number;
  /** How many a sync would rotate. Beyond the first thousand, groups that wait for their next try count too. */
  readonly count: number;
  /** The tokens to rotate, oldest first, at most a thousand. */
  readonly next: readonly RotationCandidate[];
  /** Groups whose last rotation failed and whose next try is not due yet, at most a thousand. */
  readonly waiting: readonly FailedRotation[];
  /** Whether it is within `rotation.window` now. */
  readonly isTime: boolean;
}

export type FailedRotation = RotationCandidate & {
  readonly failure: NonNullable<RotationCandidate["failure"]>;
};

/** A sync of some tenants rotates none. */
const NO_ROTATIONS: DueRotations = { total: 0, count: 0, next: [], waiting: [], isTime: true };

const SHOWN_ROTATIONS = 1_000;

export async function dueRotations(
  ledger: RotationReads,
  policy: RotationPolicy,
  now: Date,
): Promise<DueRotations> {
  const isTime = mayStart(policy, now);
  const until = dueBefore(policy, now);
  const total = until === null ? 0 : await ledger.rotatableCount(until);
  if (until === null || !isTime) return { total, count: 0, next: [], waiting: [], isTime };

  const most = policy.maxPerRun ?? total;
  const next: RotationCandidate[] = [];
  const waiting: FailedRotation[] = [];
  for await (const candidate of rotationCandidates(ledger, until)) {
    if (next.length === Math.min(most, SHOWN_ROTATIONS) || waiting.length === SHOWN_ROTATIONS) break;
    if (isWaiting(candidate, now)) waiting.push(candidate);
    else next.push(candidate);
  }
  return { total, count: Math.min(most, total - waiting.length), next, waiting, isTime };
}

const isWaiting = (candidate: RotationCandidate, now: Date): candidate is FailedRotation =>
  candidate.failure !== null && candidate.failure.retryAt > now;
