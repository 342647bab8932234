import type { Group } from "../../../../core/group/group.ts";
import { UNKNOWN_STATE } from "../../../../core/group/ledger-group.ts";
import type { RowDigest } from "../../../../core/group/tenant.ts";
import type { ConfirmedGroup } from "../../../../ports/ledger/groups.ts";

export interface ConfirmedColumns {
  readonly confirmed: string | null;
  readonly fingerprint: string;
  readonly bucket: number;
  readonly digest: RowDigest["digest"] | null;
  readonly dataSourceId: string | null;
}

/** The group as the service last confirmed it; null if nobody knows its state at the service. */
export function confirmedGroup({
  confirmed,
  fingerprint,
  bucket,
  digest,
  dataSourceId,
}: ConfirmedColumns): ConfirmedGroup | null {
  if (confirmed === null || digest === null || fingerprint === UNKNOWN_STATE) return null;
  return { group: JSON.parse(confirmed) as Group, fingerprint, row: { bucket, digest }, dataSourceId };
}
