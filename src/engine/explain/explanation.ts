import type { FailureKind, RecordedFailure } from "../../core/failure/group-failures.ts";
import type { SyncError } from "../../core/failure/sync-error.ts";
import type { Cell } from "../../core/group/tenant.ts";
import { dueBefore, type RotationPolicy } from "../../core/rotation/rotation-policy.ts";
import type { ExplainedTenant } from "./explain-tenant.ts";

/** One tenant, and what is to be said beside it. */
export interface Explanation {
  readonly explained: ExplainedTenant;
  /** For people to read. */
  readonly tokenDestinations: readonly string[];
  readonly rotation: RotationPolicy;
  /** Why a sync would fail. */
  readonly failures: readonly SyncError[];
  readonly now: Date;
}

const KINDS: readonly FailureKind[] = ["change", "rotation", "storing"];

/** The columns of one row that the config reads. */
export const rowOf = (
  { columns, rows }: Pick<ExplainedTenant, "columns" | "rows">,
  index: number,
): [column: string, cell: Cell][] => columns.map((column, at) => [column, rows[index]?.cells[at] as Cell]);

/** The failures by what was tried. */
export const failuresOf = ({ record }: ExplainedTenant): [FailureKind, RecordedFailure][] =>
  KINDS.flatMap((kind): [FailureKind, RecordedFailure][] => {
    const failure = record.group?.failures[kind];
    return failure ? [[kind, failure]] : [];
  });

/** Whether the token is older than `rotation.max_age`. */
export function isTooOld({ explained, rotation, now }: Explanation): boolean {
  const due = dueBefore(rotation, now);
  const since = explained.record.group?.tokenSince ?? null;
  return due !== null && since !== null && since <= due;
}
