import type { HeldRemoval } from "../../core/deletion/removals.ts";
import { compareIds } from "../../core/group/tenant.ts";
import type { EventOf } from "../../core/record/next.ts";
import type { GroupRecord } from "../../core/record/record.ts";
import type { GroupReads, GroupWrites } from "../../ports/ledger/groups.ts";
import { candidatePages } from "./candidate-pages.ts";

const MOST_AT_ONCE = 1_000;

/** Marks these removals, which come in the order of the ids, as held, and no others. Does so in one transaction. */
export async function markHeld(
  held: AsyncIterable<readonly HeldRemoval[]>,
  ledger: Pick<GroupReads, "candidates">,
  transaction: Pick<GroupWrites, "change">,
  now: Date,
): Promise<void> {
  const marked = recordsOf(candidatePages(ledger, { kind: "held" }));
  let next = await marked.next();
  /** Of the groups that are marked up to this id, or of all that are left, releases all but these. */
  const releaseTo = async (end: string | null, kept: ReadonlySet<string>): Promise<void> => {
    let events: EventOf[] = [];
    while (!next.done && (end === null || compareIds(next.value.user_group_id, end) <= 0)) {
      const { user_group_id } = next.value;
      if (!kept.has(user_group_id)) events.push({ kind: "held", user_group_id, removal: null });
      if (events.length === MOST_AT_ONCE) {
        await transaction.change(events, now);
        events = [];
      }
      next = await marked.next();
    }
    await transaction.change(events, now);
  };
  for await (const batch of held) {
    const last = batch.at(-1);
    if (last === undefined) continue;
    // What is held already costs no write.
    await transaction.change(
      batch.map(({ user_group_id, kind }): EventOf => ({ kind: "held", user_group_id, removal: kind })),
      now,
    );
    await releaseTo(last.user_group_id, new Set(batch.map(({ user_group_id }) => user_group_id)));
  }
  await releaseTo(null, new Set());
}

async function* recordsOf(pages: AsyncIterable<readonly GroupRecord[]>): AsyncGenerator<GroupRecord, void> {
  for await (const page of pages) yield* page;
}
