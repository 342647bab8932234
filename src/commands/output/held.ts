import type { HeldRemoval } from "../../core/deletion/removal-guard.ts";
import type { RefreshHold } from "../../core/drift/refresh-guard.ts";
import { printableId } from "../../core/text/printable.ts";

const SHOWN = 10;

/** Held removals for people, a line each. `count` may be larger than the number of groups: the last line says so. */
export function heldLines(groups: readonly HeldRemoval[], count: number): string[] {
  const lines = groups
    .slice(0, SHOWN)
    .map(({ kind, user_group_id }) => `${kind} ${printableId(user_group_id)}`);
  const more = count - lines.length;
  return more > 0 ? [...lines, `… and ${more} more; groupsync plan lists them`] : lines;
}

/** A held removal in the `--json` output of `sync`, `plan` and `status`. */
export const heldJson = ({ kind, user_group_id }: HeldRemoval): object => ({ user_group_id, action: kind });

/** A held refresh in the `--json` output of `plan` and `status`. */
export const refreshHoldJson = (hold: RefreshHold | null): object | null =>
  hold && { code: hold.approval, gone: hold.gone, allowed: hold.allowed };
