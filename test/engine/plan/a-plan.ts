import { desiredTenants, digestSeed } from "../../../src/core/group/desired-group.ts";
import { columnsOf } from "../../../src/core/group/group-rules.ts";
import { NO_READ_HISTORY } from "../../../src/core/plan/read-history.ts";
import { type GroupRecord, newRecord } from "../../../src/core/record/record.ts";
import { makePlan, type PlanSettings, readLedgerState } from "../../../src/engine/plan/make-plan.ts";
import { changesOf, type Plan, type PlanEntry } from "../../../src/engine/plan/plan.ts";
import { constant, someRules } from "../../builders/rules.ts";
import { Instance } from "../../fakes/instance.ts";
import { inMemoryLedger } from "../../fakes/ledger/ledger.ts";
import { LedgerState } from "../../fakes/ledger/ledger-state.ts";
import { openSpool } from "../../fakes/spool.ts";
import { aTenantRow, InMemoryTenantSource, type TenantRecord } from "../../fakes/tenant-source.ts";

const rules = someRules({
  mapping: { kind: "keys", keys: { "40": constant("warehouse") } },
  properties: { kind: "json", column: "properties" },
});
export const NOW = new Date("2026-03-01T12:00:00Z");
const settings: PlanSettings = {
  name: "default",
  rules,
  update: "upsert",
  deletion: { when: "absent", gracePeriodMs: 60_000, limit: { count: 3, percent: 10 } },
  source: "customers",
};

/** A group that was never made. */
export const NEW = newRecord("", 0, new Date(0));

/** The row that a confirmed group of this tenant has. */
export function confirmed(record: TenantRecord, overrides: Partial<GroupRecord> = {}): GroupRecord {
  const cells = columnsOf(rules).map((name) => record[name] ?? null);
  const row = aTenantRow(cells, digestSeed(rules));
  const tenant = desiredTenants(rules)(row);
  const fingerprint = tenant.kind === "desired" ? tenant.fingerprint : null;
  return { ...NEW, fingerprint, ...row.digest, ...overrides };
}

interface PlanOverrides extends Partial<PlanSettings> {
  readonly only?: readonly string[];
  readonly batches?: [number, number];
}

export async function aPlan(
  records: readonly TenantRecord[],
  ledger: Iterable<readonly [string, GroupRecord]>,
  { only, batches = [2, 3], ...overrides }: PlanOverrides = {},
): Promise<Plan & { list: PlanEntry[]; calls: string[] }> {
  const { step, passed } = new Instance();
  const state = new LedgerState();
  state.history = { ...NO_READ_HISTORY, source: settings.source };
  for (const [id, row] of ledger) state.rows.set(id, { ...row, user_group_id: id });
  const ports = {
    source: new InMemoryTenantSource(records, step, batches[0]),
    ledger: inMemoryLedger(state, step, () => NOW, { batch: batches[1] }),
    openSpool,
  };
  const before = await readLedgerState({
    ledger: ports.ledger,
    clock: { now: () => NOW, monotonic: () => 0 },
  });
  const options = { only: only && new Set(only) };
  const planned = await makePlan(
    ports,
    { ...settings, ...overrides },
    before,
    NOW,
    new AbortController().signal,
    options,
  );
  const list: PlanEntry[] = [];
  for await (const batch of planned.entries.read()) list.push(...batch);
  return { ...planned, list, calls: passed.map(({ call }) => call) };
}

export const OWNED: GroupRecord = { ...NEW, fingerprint: "of a group" };
export const AT_ONCE: PlanSettings["deletion"] = {
  when: "absent",
  gracePeriodMs: 0,
  limit: { count: 3, percent: 100 },
};

export async function changes(planned: Plan): Promise<string[]> {
  const list: string[] = [];
  for await (const { kind, user_group_id } of changesOf(planned)) list.push(`${kind} ${user_group_id}`);
  return list;
}

export const inShort = ({ list }: { list: PlanEntry[] }): string[] =>
  list.map(({ kind, user_group_id }) => `${kind} ${user_group_id}`);
