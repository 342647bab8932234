import type { Rejection, RememberedRejection } from "../../../src/core/group/rejections.ts";
import { compareIds } from "../../../src/core/group/tenant.ts";
import type {
  RecordedRun,
  RejectionReads,
  RejectionWrites,
  RunId,
  RunReads,
  RunResult,
  RunWrites,
} from "../../../src/ports/ledger/scope.ts";
import type { CommittedLedger, LedgerChanges } from "./ledger-changes.ts";

const DAY = 24 * 3_600_000;
const KEPT_RUNS = 90 * DAY;
const LEAST_RUNS = 10;
const KEPT_REMOVALS = 90 * DAY;
const KEPT_TOKENS = 365 * DAY;

export const runReads = ({ state, step }: CommittedLedger): RunReads => ({
  async history(since: Date, limit: number, of?: string): Promise<readonly RecordedRun[]> {
    await step({ when: "before", call: "history" });
    return state.runs
      .filter(({ startedAt, command }) => startedAt >= since && (of === undefined || command === of))
      .slice(0, limit);
  },
});

export const runWrites = (ledger: LedgerChanges): RunWrites => ({
  async startRun(command: string, now: Date): Promise<RunId> {
    await ledger.step({ when: "before", call: "startRun" });
    const id = String(++ledger.state.runsStarted);
    const run = { id, command, startedAt: now, finishedAt: null, result: null };
    ledger.enlist(() => void ledger.state.runs.unshift(run));
    return id;
  },

  async finishRun(id: RunId, result: RunResult, now: Date): Promise<void> {
    await ledger.step({ when: "before", call: "finishRun" });
    ledger.enlist(() => {
      const { runs } = ledger.state;
      const index = runs.findIndex((run) => run.id === id);
      const run = runs[index];
      if (run) runs[index] = { ...run, finishedAt: now, result: structuredClone(result) };
      const { removals, formerTokens } = ledger.state;
      const age = (time: Date): number => now.getTime() - time.getTime();
      const kept = runs.filter(({ startedAt }, index) => index < LEAST_RUNS || age(startedAt) <= KEPT_RUNS);
      runs.splice(0, runs.length, ...kept);
      ledger.state.removals = removals.filter(({ at }) => age(at) <= KEPT_REMOVALS);
      ledger.state.formerTokens = formerTokens.filter(({ until }) => age(until) <= KEPT_TOKENS);
    });
  },

  async discardRun(id: RunId): Promise<void> {
    await ledger.step({ when: "before", call: "discardRun" });
    ledger.enlist(() => {
      const { runs } = ledger.state;
      runs.splice(0, runs.length, ...runs.filter((run) => run.id !== id));
    });
  },
});

export const rejectionReads = ({ state, step }: CommittedLedger): RejectionReads => ({
  async rejections(ids?: readonly string[]): Promise<readonly RememberedRejection[]> {
    await step({ when: "before", call: "rejections" });
    return state.rejections.filter(
      ({ user_group_id: id }) => ids === undefined || (id !== null && ids.includes(id)),
    );
  },
});

type Key = Pick<Rejection, "user_group_id" | "code">;

export const rejectionWrites = (ledger: LedgerChanges): RejectionWrites => ({
  async recordRejections(changed: readonly Rejection[], gone: readonly Key[], now: Date): Promise<void> {
    await ledger.step({ when: "before", call: "recordRejections" });
    ledger.enlist(() => {
      const isSame = (a: Key) => (b: Key) => a.user_group_id === b.user_group_id && a.code === b.code;
      const left = ledger.state.rejections.filter((one) => !gone.some(isSame(one)));
      const since = (one: Rejection): Date => left.find(isSame(one))?.since ?? now;
      ledger.state.rejections = [
        ...left.filter((one) => !changed.some(isSame(one))),
        ...changed.map((one) => ({ ...one, since: since(one) })),
      ].sort(
        (a, b) => compareIds(a.user_group_id ?? "", b.user_group_id ?? "") || compareIds(a.code, b.code),
      );
    });
  },
});
