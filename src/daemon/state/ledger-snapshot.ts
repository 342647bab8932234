import { wentMissing } from "../../core/deletion/missing-tenants.ts";
import type { DeletionPolicy } from "../../core/plan/deletion-policy.ts";
import type { RotationPolicy } from "../../core/rotation/rotation-policy.ts";
import { heldRefresh } from "../../engine/refresh/refresh-start.ts";
import type { LedgerView } from "../../ports/ledger/ledger.ts";
import type { LedgerStatus } from "../../ports/ledger/scope.ts";
import type { LedgerSnapshot } from "./state.ts";

const DAY = 86_400_000;
const HISTORY_DAYS = 7;
const MOST_RUNS = 5_000;
/** The first day of each span in the histogram of token ages. */
const AGES = [0, 1, 7, 30, 60, 90, 180, 365];

export interface SnapshotSettings extends Pick<RotationPolicy, "maxAgeMs"> {
  /** The scope: `name` in the config. */
  readonly name: string;
  readonly deletion: DeletionPolicy;
}

/** Reads what the status page and the metrics show of the ledger. Rejects with LEDGER_…. */
export async function readLedgerSnapshot(
  ledger: LedgerView,
  settings: SnapshotSettings,
  now: Date,
): Promise<LedgerSnapshot> {
  const { maxAgeMs } = settings;
  const before = (days: number): Date => new Date(now.getTime() - days * DAY);
  const status = await ledger.status();
  const history = await ledger.history(before(HISTORY_DAYS), MOST_RUNS);
  const due = maxAgeMs === null ? [] : [before(maxAgeMs / DAY)];
  const atLeast = await ledger.tokensLiveSince([...AGES.map(before), ...due]);
  const tokenAges = AGES.map((fromDays, n) => ({
    fromDays,
    groups: (atLeast[n] ?? 0) - ((n + 1 < AGES.length ? atLeast[n + 1] : 0) ?? 0),
  }));
  const tooOld = maxAgeMs === null ? null : { maxAgeMs, tokens: atLeast[AGES.length] ?? 0 };
  const missing = wentMissing(await ledger.missing(), status.groups.total, settings.deletion, now);
  const refreshHold = await heldRefresh(ledger, settings, now);
  const names = await ledger.names(listedIds(status));
  return { readAt: now, status, history, tokenAges, tooOld, names, missing, refreshHold };
}

const listedIds = ({ held, failing, rejected }: LedgerStatus): string[] => [
  ...new Set(
    [...(held?.groups ?? []), ...failing, ...rejected].flatMap(({ user_group_id }) => user_group_id ?? []),
  ),
];
