import type { Held } from "../core/clearance.ts";
import { printableId } from "../core/printable.ts";

const SHOWN = 10;

/** Held groups for people, a line each: the first of `count`. */
export function heldLines(groups: readonly Held[], count: number): string[] {
  const lines = groups
    .slice(0, SHOWN)
    .map(({ kind, user_group_id }) => `${kind} ${printableId(user_group_id)}`);
  const more = count - lines.length;
  return more > 0 ? [...lines, `… and ${more} more; groupsync plan lists them`] : lines;
}

/** A held group as `sync`, `plan` and `status` print it with `--json`. */
export const heldJson = ({ kind, user_group_id }: Held): object => ({ user_group_id, action: kind });
