import type { Rejection } from "../../../src/core/group/rejections.ts";
import { compareIds } from "../../../src/core/group/tenant.ts";
import { type EventOf, next } from "../../../src/core/record/next.ts";
import type { GroupRecord } from "../../../src/core/record/record.ts";
import type { LedgerTransaction } from "../../../src/ports/ledger/ledger.ts";
import type { ScopeChanges } from "../../../src/ports/ledger/scope.ts";
import type { Step } from "../instance.ts";
import { candidatesIn } from "./ledger-reads.ts";
import { LedgerState, stepping } from "./ledger-state.ts";

const DAY = 24 * 3_600_000;
const KEPT_RUNS = 90 * DAY;
const LEAST_RUNS = 10;
const KEPT_REMOVALS = 90 * DAY;
const KEPT_TOKENS = 365 * DAY;

/** The changes of one transaction. Nobody sees them before it commits. */
export class LedgerChanges {
  readonly state: LedgerState;
  readonly #changes: (() => void)[] = [];
  readonly #saved = new Map<string, GroupRecord | null>();

  constructor(state: LedgerState) {
    this.state = state;
  }

  /** For a store in the same database: its change happens when this commits, or not at all. */
  enlist(change: () => void): void {
    this.#changes.push(change);
  }

  /** Returns the records that it has saved. */
  commit(): ReadonlyMap<string, GroupRecord | null> {
    for (const change of this.#changes) change();
    return this.#saved;
  }

  /** Takes an event when this commits. */
  take(event: EventOf, now: Date): void {
    this.enlist(() => {
      const { user_group_id } = event;
      const { rows, formerTokens } = this.state;
      const { record, journal } = next(rows.get(user_group_id) ?? null, event, now);
      if (record) rows.set(user_group_id, record);
      else rows.delete(user_group_id);
      this.#saved.set(user_group_id, record);
      for (const entry of journal) {
        if (entry.kind === "former_token") {
          const { tokenFingerprint: fingerprint, since, until } = entry;
          formerTokens.push({ user_group_id, fingerprint, since, until });
        } else this.state.enter(entry);
      }
    });
  }
}

const openChanges = new WeakMap<LedgerTransaction, LedgerChanges>();

/** A transaction that collects its writes in `changes`. */
export function inMemoryTransaction(changes: LedgerChanges, step: Step = async () => {}): LedgerTransaction {
  const names = {
    change: ([events]: readonly unknown[]) => firstOf(events as readonly EventOf[], changes.state),
    recordScope: scopeCall,
  };
  const transaction = stepping(writes(changes), step, names);
  openChanges.set(transaction, changes);
  return transaction;
}

/** A point is told by the first of its events. */
function firstOf(
  [first]: readonly EventOf[],
  { rows }: LedgerChanges["state"],
): { readonly call: string; readonly id?: string } {
  if (first === undefined) return { call: "change" };
  const { user_group_id: id } = first;
  const event = first.kind === "decided" ? first.by(rows.get(id) ?? null) : first;
  return { call: event?.kind ?? "change", id };
}

const scopeCall = ([changes]: readonly unknown[]): { readonly call: string } => ({
  call: (changes as ScopeChanges).answeredAt ? "recordAnswer" : "recordScope",
});

const writes = (ledger: LedgerChanges): LedgerTransaction => ({
  async forgetScope() {
    ledger.enlist(() => ledger.state.forgetScope());
  },

  async recordScope({ service, answeredAt, history, tokens, ...more }) {
    ledger.enlist(() => {
      const { state } = ledger;
      if (service || answeredAt)
        state.service = { ...state.service, ...service, ...(answeredAt && { answeredAt }) };
      if (history) state.history = history;
      Object.assign(state, more);
      if (tokens) state.tokens = { ...state.tokens, ...tokens };
    });
  },

  async change(events, now) {
    const { rows } = ledger.state;
    for (const event of events) ledger.take(event, now);
    return new Map(
      events.flatMap(({ user_group_id: id }): [string, GroupRecord][] => {
        const record = rows.get(id);
        return record ? [[id, record]] : [];
      }),
    );
  },

  async changeAll(event, now, list) {
    const rows = list ? candidatesIn(ledger.state, list) : [...ledger.state.rows.values()];
    for (const { user_group_id } of rows) ledger.take({ ...event, user_group_id }, now);
  },

  async startRun(command, now) {
    const id = String(++ledger.state.runsStarted);
    const run = { id, command, startedAt: now, finishedAt: null, result: null };
    ledger.enlist(() => void ledger.state.runs.unshift(run));
    return id;
  },

  async finishRun(id, result, now) {
    ledger.enlist(() => {
      const { runs } = ledger.state;
      const index = runs.findIndex((run) => run.id === id);
      const run = runs[index];
      if (run && result) runs[index] = { ...run, finishedAt: now, result: structuredClone(result) };
      else runs.splice(index, 1);
      const { journal, formerTokens } = ledger.state;
      const age = (time: Date): number => now.getTime() - time.getTime();
      const kept = runs.filter(({ startedAt }, index) => index < LEAST_RUNS || age(startedAt) <= KEPT_RUNS);
      runs.splice(0, runs.length, ...kept);
      ledger.state.journal = journal.filter(({ at }) => age(at) <= KEPT_REMOVALS);
      ledger.state.formerTokens = formerTokens.filter(({ until }) => age(until) <= KEPT_TOKENS);
    });
  },

  async recordRejections(changed, gone, now) {
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

type Key = Pick<Rejection, "user_group_id" | "code">;

/** A transaction that nobody commits. */
export const someTransaction = (): LedgerTransaction =>
  inMemoryTransaction(new LedgerChanges(new LedgerState()));

/** For a store in the same database: its change happens when the transaction commits, or not at all. */
export function enlist(transaction: LedgerTransaction, change: () => void): void {
  const changes = openChanges.get(transaction);
  if (!changes) throw new Error("not a transaction of this ledger");
  changes.enlist(change);
}
