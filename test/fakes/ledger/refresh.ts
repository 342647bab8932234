import type { FoundGone } from "../../../src/core/drift/refresh.ts";
import { UNKNOWN_STATE } from "../../../src/core/group/ledger-group.ts";
import { compareIds } from "../../../src/core/group/tenant.ts";
import type {
  RefreshableOptions,
  RefreshCandidate,
  RefreshReads,
  RefreshWrites,
  Unverified,
} from "../../../src/ports/ledger/groups.ts";
import type { CommittedLedger, LedgerChanges } from "./ledger-changes.ts";
import type { LedgerRow, LedgerState } from "./ledger-state.ts";

export const refreshReads = ({ state, step }: CommittedLedger): RefreshReads => ({
  async refreshable({
    limit,
    after,
    of,
    ...unverified
  }: RefreshableOptions): Promise<readonly RefreshCandidate[]> {
    await step({ when: "before", call: "refreshable" });
    return candidates(state, unverified)
      .filter((candidate) => after === undefined || byAge(candidate, after) > 0)
      .filter(({ user_group_id }) => of?.includes(user_group_id) ?? true)
      .slice(0, limit);
  },

  async refreshableCount(unverified: Unverified): Promise<number> {
    await step({ when: "before", call: "refreshableCount" });
    return candidates(state, unverified).length;
  },

  async goneSince(time: Date): Promise<FoundGone> {
    await step({ when: "before", call: "goneSince" });
    const { refreshApprovedAt: approved } = state;
    const gone = state.foundGone.filter(({ at }) => at >= time && (approved === null || at > approved));
    return { count: gone.length, last: gone.at(-1) ?? null };
  },
});

export const refreshWrites = (ledger: LedgerChanges): RefreshWrites => ({
  async approveRefresh(now: Date): Promise<void> {
    await ledger.step({ when: "before", call: "approveRefresh" });
    ledger.enlist(() => {
      ledger.state.refreshApprovedAt = now;
      const { foundGone } = ledger.state;
      const untilNow = foundGone.map((gone) => (gone.at > now ? { ...gone, at: now } : gone));
      foundGone.splice(0, foundGone.length, ...untilNow);
    });
  },
});

const candidates = ({ rows }: LedgerState, { since, now }: Unverified): RefreshCandidate[] =>
  [...rows]
    .flatMap(([user_group_id, ledgerRow]) => {
      const { confirmed: group, fingerprint, row, dataSourceId, verifiedAt } = ledgerRow;
      if (!isAtRest(ledgerRow) || verifiedAt === null) return [];
      if (verifiedAt >= since && verifiedAt <= now) return [];
      if (group === null || row === null || fingerprint === null || fingerprint === UNKNOWN_STATE) return [];
      return [{ user_group_id, verifiedAt, group, fingerprint, row, dataSourceId }];
    })
    .sort(byAge);

const isAtRest = ({ intent, held, absence, failures }: LedgerRow): boolean =>
  intent === null &&
  held === null &&
  absence === null &&
  failures.change === null &&
  failures.storing === null;

type Aged = Pick<RefreshCandidate, "user_group_id" | "verifiedAt">;

const byAge = (a: Aged, b: Aged): number =>
  a.verifiedAt.getTime() - b.verifiedAt.getTime() || compareIds(a.user_group_id, b.user_group_id);
