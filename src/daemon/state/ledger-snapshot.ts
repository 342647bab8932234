import type { DeletionPolicy } from "../../core/plan/deletion-policy.ts";
import type { RotationPolicy } from "../../core/rotation/rotation-policy.ts";
import { ledgerStatus } from "../../engine/ledger-status.ts";
import type { LedgerView } from "../../ports/ledger/ledger.ts";
import type { LedgerSnapshot } from "./state.ts";

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
  const status = await ledgerStatus(ledger, settings, now);
  const old = (ms: number) => ({ kind: "rotatable", due: new Date(now.getTime() - ms) }) as const;
  const tooOld =
    maxAgeMs === null ? null : { maxAgeMs, tokens: (await ledger.sums(old(maxAgeMs))).counts.total };
  return { ...status, tooOld };
}
