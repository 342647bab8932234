import { doesUpdate } from "../../core/apply/update-evidence.ts";
import { describeHeldRemovals } from "../../core/deletion/removals.ts";
import type { SyncError } from "../../core/failure/sync-error.ts";
import type { ResolvedTables } from "../../core/report/tables-text.ts";
import type { RotationPolicy } from "../../core/rotation/rotation-policy.ts";
import { quantity } from "../../core/text/quantity.ts";
import { shownTable } from "../../core/tokens/destination.ts";
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
import { lostLedgerWarnings } from "../tokens/lost-ledger.ts";
import { areSameDestinations } from "../tokens/moved-destinations.ts";
import { tokenTables } from "../tokens/token-tables.ts";
import { untrackedWarnings } from "../verify/untracked-tokens.ts";
import { type DueRotations, dueRotations } from "./due-rotations.ts";
import { predictedFailures } from "./sync-conditions.ts";

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
  /** How the refresh of a sync would start; null if no group is due to be asked for again. */
  readonly refresh: Pick<RefreshStart, "due" | "doubted" | "unsafe" | "hold"> | null;
  /** How many groups have a token that is known to be missing in a store. 0 in a plan for some tenants. */
  readonly notStored: number;
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
  const state = await readLedgerState({ ledger, clock }, only === undefined);
  const { service, now } = state;
  const plan = await makePlan(ports, settings, state, now, stop, { only });
  try {
    const verifiesAll =
      plan.isWhole &&
      !(await areSameDestinations((await ledger.scope()).tokens.complete ?? [], tokenDestinations));
    const failures = await predictedFailures({ ledger, service, name: settings.name, ...setup });
    const refresh = await startOfRefresh(
      plan,
      { only },
      { ...settings, refresh: policy },
      { ledger, updates: doesUpdate(service.evidence), now, isRecorded: false },
    );
    return {
      plan,
      tables: {
        source: plan.sourceTable,
        // If the tables can't be found, `failures` has the reason.
        tokens: (await tokenTables(tokens).catch(() => [])).map(shownTable),
        ledger: (await ledger.tables()).place,
      },
      rotations: await dueRotations(ledger, rotation, now, only),
      refresh,
      notStored:
        plan.isWhole && plan.owing > 0
          ? (await ledger.sums({ kind: "vouched", of: "not everywhere" })).counts.total
          : 0,
      // Without a group, no token can be missing.
      tokensMayBeMissingIn:
        verifiesAll && (await ledger.sums({ kind: "existing" })).counts.total > 0 ? tokenDestinations : [],
      failures,
      warnings:
        failures.length > 0
          ? []
          : [
              ...plan.warnings,
              ...(await lostLedgerWarnings({ ledger, tokens }, service)),
              ...(verifiesAll ? await untrackedWarnings(plan, { ledger, tokens }) : []),
              ...(refresh?.unsafe ? [refresh.unsafe] : []),
            ],
    };
  } catch (error) {
    plan.entries.close();
    throw error;
  }
}

/** How much a sync would do, and what it would leave alone, for people; null if there is nothing to say. */
export function forecastNumbers({ plan, rotations, refresh, notStored }: SyncForecast): string | null {
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
    [plan.leftUnderWay.length, "under way"],
    [notStored, "not in every store"],
    [refresh?.doubted ?? 0, "in doubt"],
  ] as const;
  const later = rotations.total - rotations.count - rotations.waiting.length;
  const more = [
    ...(later > 0 ? [`${quantity(later, "token")} to rotate in later syncs`] : []),
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
