import type { Counts } from "../core/outcome.ts";

/** `1 request`, `2 requests`. */
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;

const LIST = new Intl.ListFormat("en");

/** What keeps all from being in sync: `2 rejected rows and 1 failing group`; empty where nothing does. */
export function exceptionsText({
  rejected,
  failed,
  outdated,
}: Pick<Counts, "rejected" | "failed" | "outdated">): string {
  const exceptions = [
    [rejected, "rejected row"],
    [failed, "failing group"],
    [outdated, "outdated group"],
  ] as const;
  return LIST.format(exceptions.flatMap(([count, noun]) => (count > 0 ? [counted(count, noun)] : [])));
}
