import { UNKNOWN_STATE } from "../../../src/core/group/ledger-group.ts";
import { compareIds } from "../../../src/core/group/tenant.ts";
import type { TokenTable } from "../../../src/core/tokens/destination.ts";
import type {
  StoredResult,
  TokenReads,
  TokenWrites,
  VouchedOptions,
  VouchedToken,
} from "../../../src/ports/ledger/groups.ts";
import { type CommittedLedger, type LedgerChanges, retryable } from "./ledger-changes.ts";

export const tokenReads = ({ state, step }: CommittedLedger): TokenReads => ({
  async vouchedTokens({ limit, after, of }: VouchedOptions): Promise<readonly VouchedToken[]> {
    await step({ when: "before", call: "vouchedTokens" });
    return [...state.rows]
      .flatMap(([user_group_id, row]): VouchedToken[] => {
        const { tokenFingerprint, confirmed: group, fingerprint, row: digest, dataSourceId } = row;
        if (tokenFingerprint === null || fingerprint === null) return [];
        if (row.intent !== null || row.absence !== null) return [];
        const failure = retryable(row.failures.storing);
        if (of === "not everywhere" && failure === null) return [];
        if (typeof of !== "string" && !of.includes(user_group_id)) return [];
        const isConfirmed = group !== null && digest !== null && fingerprint !== UNKNOWN_STATE;
        const confirmed = isConfirmed ? { group, fingerprint, row: digest, dataSourceId } : null;
        return [{ user_group_id, tokenFingerprint, confirmed, failure }];
      })
      .sort((a, b) => compareIds(a.user_group_id, b.user_group_id))
      .filter(({ user_group_id }) => after === undefined || compareIds(user_group_id, after) > 0)
      .slice(0, limit);
  },

  async sharedTokens(
    tokens: ReadonlyMap<string, string>,
    of: "recorded" | "all",
  ): Promise<ReadonlySet<string>> {
    await step({ when: "before", call: "sharedTokens" });
    const rows = [...state.rows];
    const isAnothers = ([id, token]: [string, string]): boolean =>
      rows.some(
        ([other, row]) =>
          other !== id && (row.tokenFingerprint === token || (of === "all" && row.sharedToken === token)),
      );
    return new Set([...tokens].filter(isAnothers).map(([id]) => id));
  },

  async tokenTables(): Promise<readonly TokenTable[]> {
    await step({ when: "before", call: "tokenTables" });
    return state.tokenTables;
  },

  async tokensVerifiedAt(): Promise<Date | null> {
    await step({ when: "before", call: "tokensVerifiedAt" });
    return state.tokensVerifiedAt;
  },

  async tokenDestinations(): Promise<readonly string[] | null> {
    await step({ when: "before", call: "tokenPlaces" });
    return state.tokenDestinations;
  },
});

export const tokenWrites = (ledger: LedgerChanges): TokenWrites => ({
  async recordStored(results: readonly StoredResult[], now: Date): Promise<void> {
    await ledger.step({ when: "before", call: "recordStored" });
    for (const { user_group_id: id, failure, sharedToken } of results) {
      ledger.enlist(() => {
        const since = ledger.state.rows.get(id)?.failures.storing?.since ?? now;
        ledger.fails(id, { storing: failure && { ...failure, since } });
        if (sharedToken !== undefined) ledger.change(id, { sharedToken });
      });
    }
  },

  async recordTokenTables(tables: readonly TokenTable[]): Promise<void> {
    await ledger.step({ when: "before", call: "recordTokenTables" });
    ledger.enlist(() => {
      ledger.state.tokenTables = tables;
    });
  },

  async recordTokensVerified(now: Date): Promise<void> {
    await ledger.step({ when: "before", call: "recordTokensVerified" });
    ledger.enlist(() => {
      ledger.state.tokensVerifiedAt = now;
    });
  },

  async recordTokenDestinations(places: readonly string[] | null): Promise<void> {
    await ledger.step({ when: "before", call: "recordTokenPlaces" });
    ledger.enlist(() => {
      ledger.state.tokenDestinations = places;
    });
  },
});
