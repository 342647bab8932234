import type { MissingGroups } from "../../../src/core/deletion/missing-tenants.ts";
import type { HeldRemoval } from "../../../src/core/deletion/removals.ts";
import type { GraceClock } from "../../../src/core/group/ledger-group.ts";
import { compareIds } from "../../../src/core/group/tenant.ts";
import type { LeftUpdate } from "../../../src/core/plan/ledger-update.ts";
import type { ReadHistory } from "../../../src/core/plan/read-history.ts";
import type { DatedHistory, DeletionReads, DeletionWrites } from "../../../src/ports/ledger/groups.ts";
import type { CommittedLedger, LedgerChanges } from "./ledger-changes.ts";

export const deletionReads = ({ state, step, now }: CommittedLedger): DeletionReads => ({
  async readHistory(): Promise<DatedHistory> {
    await step({ when: "before", call: "readHistory" });
    return { ...state.history, readAt: now() };
  },

  async removalsSince(time: Date): Promise<number> {
    await step({ when: "before", call: "removalsSince" });
    return state.removals.filter(({ at }) => at >= time).length;
  },

  async missing(): Promise<readonly MissingGroups[]> {
    await step({ when: "before", call: "missing" });
    const found = new Map<string, MissingGroups>();
    for (const { absence, held } of state.rows.values()) {
      if (absence === null || held !== null) continue;
      const { kind, since } = absence;
      const key = `${since.toISOString()} ${kind}`;
      found.set(key, { kind, since, groups: (found.get(key)?.groups ?? 0) + 1 });
    }
    return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, groups]) => groups);
  },
});

export const deletionWrites = (ledger: LedgerChanges): DeletionWrites => ({
  async markLeft(left: readonly LeftUpdate[], clock: GraceClock, now: Date): Promise<void> {
    await ledger.step({ when: "before", call: "markLeft" });
    for (const { user_group_id, absence: kind } of left) {
      ledger.enlist(() => {
        const known = ledger.state.rows.get(user_group_id)?.absence;
        const since = known?.kind === kind ? known.since : now;
        ledger.change(user_group_id, { absence: { kind, since, at: clock } });
      });
    }
  },

  async markReturned(ids: readonly string[]): Promise<void> {
    await ledger.step({ when: "before", call: "markReturned" });
    for (const id of ids) {
      ledger.enlist(() => {
        ledger.change(id, { absence: null });
        if (ledger.state.rows.get(id)?.held === "delete") ledger.change(id, { held: null });
      });
    }
  },

  async markHeld(held: AsyncIterable<readonly HeldRemoval[]>): Promise<void> {
    await ledger.step({ when: "before", call: "markHeld" });
    const all: HeldRemoval[] = [];
    for await (const batch of held) all.push(...batch);
    const sorted = all.toSorted((a, b) => compareIds(a.user_group_id, b.user_group_id));
    if (all.some((one, index) => one !== sorted[index])) throw new Error("not in the order of the ids");
    ledger.enlist(() => {
      for (const id of ledger.state.rows.keys()) ledger.change(id, { held: null });
      for (const { user_group_id, kind } of all) ledger.change(user_group_id, { held: kind });
    });
  },

  async recordReadHistory(history: ReadHistory): Promise<void> {
    await ledger.step({ when: "before", call: "keepEvidence" });
    ledger.enlist(() => {
      ledger.state.history = history;
    });
  },
});
