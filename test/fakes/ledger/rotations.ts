import { compareIds } from "../../../src/core/group/tenant.ts";
import type { RotationCandidate } from "../../../src/core/rotation/rotation-policy.ts";
import type {
  KnownToken,
  RotatableOptions,
  RotationReads,
  RotationResult,
  RotationWrites,
} from "../../../src/ports/ledger/groups.ts";
import {
  type CommittedLedger,
  failedOnce,
  failureCounts,
  type LedgerChanges,
  NO_INTENT,
  retryable,
} from "./ledger-changes.ts";
import type { LedgerState } from "./ledger-state.ts";

export const rotationReads = ({ state, step }: CommittedLedger): RotationReads => ({
  async rotatable({ until, limit, after }: RotatableOptions): Promise<readonly RotationCandidate[]> {
    await step({ when: "before", call: "rotatable" });
    return candidates(state, until)
      .filter((candidate) => after === undefined || byAge(candidate, after) > 0)
      .slice(0, limit);
  },

  async rotatableCount(until: Date): Promise<number> {
    await step({ when: "before", call: "rotatableCount" });
    return candidates(state, until).length;
  },

  async tokensLiveSince(time: Date): Promise<number> {
    await step({ when: "before", call: "tokensLiveSince" });
    return [...state.rows.values()].filter(({ tokenSince }) => tokenSince && tokenSince <= time).length;
  },
});

export const rotationWrites = (ledger: LedgerChanges): RotationWrites => ({
  async beginRotation(id: string, now: Date): Promise<KnownToken | undefined> {
    await ledger.step({ when: "before", call: "beginRotation", id });
    const row = ledger.state.rows.get(id);
    if (row === undefined) return undefined;
    const { tokenFingerprint, intent, failures } = row;
    if (intent === null) ledger.enlist(() => ledger.change(id, { intent: "rotate", intentAt: now }));
    return { tokenFingerprint, intent, failures: failureCounts(failures) };
  },

  async withdrawRotation(id: string): Promise<void> {
    await ledger.step({ when: "before", call: "withdrawRotation", id });
    ledger.enlist(() => {
      if (ledger.state.rows.get(id)?.intent === "rotate") ledger.change(id, NO_INTENT);
    });
  },

  async recordRotation(result: RotationResult, now: Date): Promise<void> {
    const { user_group_id: id, tokenFingerprint, sharedToken, failure, isOpen } = result;
    await ledger.step({ when: "before", call: "recordRotation", id });
    ledger.enlist(() => {
      const row = ledger.state.rows.get(id);
      if (row === undefined) return;
      if (tokenFingerprint !== null) {
        ledger.retoken(id, tokenFingerprint, now);
        ledger.fails(id, { storing: null });
      }
      if (failure) ledger.fails(id, { rotation: failedOnce(row.failures.rotation, failure, now) });
      if (tokenFingerprint !== null) ledger.change(id, { sharedToken: null });
      else if (sharedToken !== undefined) ledger.change(id, { sharedToken });
      if (!isOpen) ledger.change(id, NO_INTENT);
    });
  },
});

function candidates(state: LedgerState, until: Date): RotationCandidate[] {
  return [...state.rows]
    .flatMap(([user_group_id, { tokenSince, absence, intent, failures }]) => {
      const isOpen = intent === null || intent === "rotate";
      if (tokenSince === null || tokenSince > until || absence !== null || !isOpen) return [];
      return [{ user_group_id, tokenSince, failure: retryable(failures.rotation) }];
    })
    .sort(byAge);
}

const byAge = (a: RotationCandidate, b: RotationCandidate): number =>
  a.tokenSince.getTime() - b.tokenSince.getTime() || compareIds(a.user_group_id, b.user_group_id);
