import { countedList } from "./counted.ts";
import type { Counts } from "./outcome.ts";

/** What keeps all from being in sync: `2 rejected rows and 1 failing group`; empty where nothing does. */
export const outOfSyncText = ({
  rejected,
  failed,
  outdated,
}: Pick<Counts, "rejected" | "failed" | "outdated">): string =>
  countedList([
    [rejected, "rejected row"],
    [failed, "failing group"],
    [outdated, "outdated group"],
  ]);
