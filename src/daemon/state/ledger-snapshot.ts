import { wentMissing } from "../../core/deletion/missing-tenants.ts";
import type { DeletionPolicy } from "../../core/plan/deletion-policy.ts";
import { namesOf } from "../../core/record/candidates.ts";
import type { RotationPolicy } from "../../core/rotation/rotation-policy.ts";
import { heldRefresh } from "../../engine/refresh/held-refresh.ts";
import { type LedgerStatus, ledgerStatus } from "../../engine/report/ledger-status.ts";
import type { LedgerView } from "../../ports/ledger/ledger.ts";
import type { LedgerSnapshot } from "./state.ts";

/** In milliseconds. */
const HISTORY = 7 * 86_400_000;
const MOST_RUNS = 5_000;

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
  const status = await ledgerStatus(ledger);
  const history = await ledger.history(new Date(now.getTime() - HISTORY), MOST_RUNS);
  const old = (ms: number) => ({ kind: "rotatable", due: new Date(now.getTime() - ms) }) as const;
  const tooOld = maxAgeMs === null ? null : { maxAgeMs, tokens: await ledger.candidateCount(old(maxAgeMs)) };
  const missing = wentMissing(status.missing, status.groups.total, settings.deletion, now);
  const refreshHold = await heldRefresh(ledger, settings, now);
  const names = namesOf(await ledger.records(listedIds(status)));
  return { readAt: now, status, history, tooOld, names, missing, refreshHold };
}

const listedIds = ({ held, failing, rejected }: LedgerStatus): string[] => [
  ...new Set(
    [...(held?.groups ?? []), ...failing, ...rejected].flatMap(({ user_group_id }) => user_group_id ?? []),
  ),
];
