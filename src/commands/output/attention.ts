import type { HeldRemoval } from "../../core/deletion/removals.ts";
import type { RefreshHold } from "../../core/drift/refresh.ts";
import { remediesOf } from "../../core/failure/error-codes.ts";
import type { SyncError } from "../../core/failure/sync-error.ts";
import type { LedgerStatus } from "../../core/report/scope-facts.ts";
import { printable, printableId } from "../../core/text/printable.ts";
import type { ReportedError } from "../../engine/report/tally.ts";
import type { Warning } from "../../ports/observer.ts";
import { type Paint, painter } from "./colours.ts";

const SHOWN = 10;
const SHOWN_ERRORS = 20;

/** The names of groups by their ids, as the service last told them. */
export type Names = ReadonlyMap<string, string>;

/** Held removals for people, a line each. `count` may be larger than the number of groups: the last line says so. */
export function heldLines(groups: readonly HeldRemoval[], names: Names, count: number): string[] {
  const lines = groups
    .slice(0, SHOWN)
    .map(({ kind, user_group_id }) => `${kind} ${tenantText(user_group_id, names)}`);
  const more = count - lines.length;
  return more > 0 ? [...lines, `… and ${more} more; groupsync plan lists them`] : lines;
}

/** The id, and the name of its group if that is known. */
export function tenantText(id: string, names: Names): string {
  const name = names.get(id);
  return name === undefined ? printableId(id) : `${printableId(id)}  ${quotedName(name)}`;
}

export const quotedName = (name: string): string => printable(JSON.stringify(name), 80);

/** A held removal in the `--json` output of `sync`, `plan` and `status`. */
export const heldJson = ({ kind, user_group_id }: HeldRemoval, name: string | undefined): object => ({
  user_group_id,
  name: name ?? null,
  action: kind,
});

/** A held refresh in the `--json` output of `plan` and `status`. */
export const refreshHoldJson = (hold: RefreshHold | null): object | null =>
  hold && { code: hold.approval, gone: hold.changed, allowed: hold.allowed };

/** The lease in the `--json` output of `status` and `forget`. */
export const leaseJson = (lease: LedgerStatus["lease"]): object | null =>
  lease && { holder: lease.holder, acquired_at: lease.acquiredAt, expires_at: lease.expiresAt };

/** What has failed, a line each. */
export function errorLines(errors: readonly ReportedError[]): string[] {
  const lines = errors.slice(0, SHOWN_ERRORS).map(({ user_group_id, code, message }) => {
    // A rejected row without an id and an error of the whole run both have no id. Only the former gets one printed.
    const isOfRow = user_group_id !== null || code.startsWith("ID_");
    return `  ${isOfRow ? `${printableId(user_group_id)}: ` : ""}${code}: ${printable(message)}`;
  });
  const more = errors.length - lines.length;
  return more > 0 ? [...lines, `  … and ${more} more; --json lists them`] : lines;
}

/** What helps against the codes that are shown, each once. */
export const remedyLines = (errors: readonly Pick<ReportedError, "code">[]): string[] =>
  remediesOf(errors.slice(0, SHOWN_ERRORS).map(({ code }) => code)).map(
    ({ code, remedy }) => `  what helps against ${code}: ${remedy}`,
  );

/** In characters. The reason of a whole run gets more room than the reason of a group. */
export const LONGEST_REASON = 2_000;

/** The reason why a sync would fail, with its hint. */
export function failureText({ message, hint }: SyncError, paint: Paint = painter(false)): string {
  return withHint(paint("red", `A sync would fail: ${printable(message, LONGEST_REASON)}`), hint);
}

export const withHint = (text: string, hint: string | undefined): string =>
  hint === undefined ? text : `${text}\n  ${printable(hint, LONGEST_REASON)}`;

/** What a sync would fail or warn of, in the `--json` output of `plan` and `explain`. */
export const messageJson = ({ code, message, hint }: SyncError | Warning): object => ({
  code,
  message,
  hint: hint ?? null,
});
