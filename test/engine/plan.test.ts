import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { desiredTenants, digestSeed } from "../../src/core/desired.ts";
import { ROTATED } from "../../src/core/rotation.ts";
import { columnsOf } from "../../src/core/rule.ts";
import { changesOf, heldOf, type Plan, type PlanEntry } from "../../src/engine/plan.ts";
import { type PlanSettings, planRun, readLedgerState } from "../../src/engine/plan-run.ts";
import { anyId, anyObject, anyText } from "../builders/arbitraries.ts";
import { aGroupFailure, anAbsence } from "../builders/groups.ts";
import { constant, someRules } from "../builders/rules.ts";
import { Instance } from "../fakes/instance.ts";
import { InMemoryLedger } from "../fakes/ledger.ts";
import { type LedgerRow, LedgerState, NEW_ROW } from "../fakes/ledger-state.ts";
import { openSpool } from "../fakes/spool.ts";
import { aTenantRow, InMemoryTenantSource, type TenantRecord } from "../fakes/tenant-source.ts";
import { tenants } from "../fakes/world.ts";

const rules = someRules({
  mapping: { kind: "keys", keys: { "40": constant("warehouse") } },
  properties: { kind: "json", column: "properties" },
});
const NOW = new Date("2026-03-01T12:00:00Z");
const settings: PlanSettings = {
  name: "default",
  rules,
  update: "upsert",
  deletion: { when: "absent", gracePeriodMs: 60_000, limit: { count: 3, percent: 10 } },
  source: "customers",
};

/** The row that a confirmed group of this tenant has. */
function confirmed(record: TenantRecord, overrides: Partial<LedgerRow> = {}): LedgerRow {
  const cells = columnsOf(rules).map((name) => record[name] ?? null);
  const row = aTenantRow(cells, digestSeed(rules));
  const tenant = desiredTenants(rules)(row);
  const fingerprint = tenant.kind === "desired" ? tenant.fingerprint : null;
  return { ...NEW_ROW, fingerprint, row: row.digest, bucket: row.digest.bucket, ...overrides };
}

interface PlanOverrides extends Partial<PlanSettings> {
  readonly only?: string[];
  readonly batches?: [number, number];
}

async function plan(
  records: readonly TenantRecord[],
  ledger: Iterable<readonly [string, LedgerRow]>,
  { only, batches = [2, 3], ...overrides }: PlanOverrides = {},
): Promise<Plan & { list: PlanEntry[] }> {
  const { step } = new Instance();
  const state = new LedgerState();
  for (const [id, row] of ledger) state.rows.set(id, row);
  const ports = {
    source: new InMemoryTenantSource(records, step, batches[0]),
    ledger: new InMemoryLedger(state, step, () => NOW, batches[1]),
    openSpool,
  };
  const before = await readLedgerState(ports.ledger);
  const options = { only: only && new Set(only) };
  const planned = await planRun(
    ports,
    { ...settings, ...overrides },
    before,
    NOW,
    new AbortController().signal,
    options,
  );
  const list: PlanEntry[] = [];
  for await (const batch of planned.entries.read()) list.push(...batch);
  return { ...planned, list };
}

const OWNED: LedgerRow = { ...NEW_ROW, fingerprint: "of a group" };
const AT_ONCE: PlanSettings["deletion"] = {
  when: "absent",
  gracePeriodMs: 0,
  limit: { count: 3, percent: 100 },
};

async function changes(planned: Plan): Promise<string[]> {
  const list: string[] = [];
  for await (const { kind, user_group_id } of changesOf(planned)) list.push(`${kind} ${user_group_id}`);
  return list;
}

const inShort = ({ list }: { list: PlanEntry[] }): string[] =>
  list.map(({ kind, user_group_id }) => `${kind} ${user_group_id}`);

const anyRecords = fc.uniqueArray(fc.record({ id: anyId(), name: anyText(), properties: anyObject() }), {
  selector: ({ id }) => id,
  maxLength: 10,
});
const anyBatch = fc.integer({ min: 1, max: 5 });

describe("a plan", () => {
  it("has nothing to do where the ledger has just these tenants", async () => {
    await fc.assert(
      fc.asyncProperty(anyRecords, fc.tuple(anyBatch, anyBatch), async (records, batches) => {
        const ledger = records.map((record) => [record.id, confirmed(record)] as const);
        const planned = await plan(records, ledger, { batches });
        expect(inShort(planned)).toEqual([]);
        expect(planned.unchanged).toBe(records.length);
      }),
    );
  });

  it("creates what is new, and notes what is gone", async () => {
    await fc.assert(
      fc.asyncProperty(
        anyRecords,
        fc.func(fc.constantFrom("both", "source", "ledger")),
        async (records, where) => {
          const at = (place: string) => records.filter(({ id }) => where(id) === place);
          const [both, source, ledger] = [at("both"), at("source"), at("ledger")];
          const rows = [...both, ...ledger].map((record) => [record.id, confirmed(record)] as const);
          const planned = await plan([...both, ...source], rows);
          expect(inShort(planned).sort()).toEqual(
            [
              ...source.map(({ id }) => `create ${id}`),
              ...ledger.flatMap(({ id }) => [`missing ${id}`, `left ${id}`]),
            ].sort(),
          );
          expect(planned).toMatchObject({
            unchanged: both.length,
            conclusive: both.length + source.length > 0,
            counts: { create: source.length, missing: ledger.length },
          });
        },
      ),
    );
  });

  it("notes the return of a tenant beside whatever else is to be done about it", async () => {
    const same = { id: "a", name: "A" };
    const renamed = { id: "b", name: "B" };
    const broken = { id: "c", name: null };
    const gone = { absence: anAbsence() };
    const planned = await plan(
      [same, renamed, broken],
      [
        ["a", confirmed(same, gone)],
        ["b", confirmed({ ...renamed, name: "Old" }, gone)],
        ["c", confirmed(same, gone)],
      ],
    );
    expect(inShort(planned)).toEqual(["settled a", "update b", "returned b", "rejected c", "returned c"]);
    expect(planned.unchanged).toBe(1);
  });

  it("shows no absence by a source without a valid row", async () => {
    const planned = await plan([{ id: null }, { id: "b", name: null }], [["a", OWNED]], {
      deletion: AT_ONCE,
    });
    expect(planned.conclusive).toBe(false);
    expect(planned.clearance).toEqual({ kind: "inconclusive", gone: 1, kept: 0 });
    expect(await changes(planned)).toEqual([]);
  });
});

describe("a plan for some ids alone", () => {
  const records = tenants("a", "b", "c");

  it("passes over everything else, rows without an id too", async () => {
    const planned = await plan([...records, { id: null }], [["gone", OWNED]], { only: ["b"] });
    expect(inShort(planned)).toEqual(["create b"]);
    expect(planned.conclusive).toBe(true);
  });

  it("takes ids that only the ledger has", async () => {
    const planned = await plan(records, [["gone", OWNED]], { only: ["gone"] });
    expect(inShort(planned)).toEqual(["missing gone", "left gone"]);
  });

  it("names every id that nobody has", async () => {
    await expect(plan(records, [], { only: ["a", "A", " a"] })).rejects.toMatchObject({
      code: "UNKNOWN_ID",
      message: 'neither the source nor the ledger has "A", " a"',
    });
  });
});

it("the changes of a plan are first what an earlier run left under way, then the others in order", async () => {
  const records = tenants("a", "b", "c", "d");
  const planned = await plan(records, [
    ["b", { ...NEW_ROW, intent: "apply" }],
    ["d", confirmed(records[3] ?? {}, { intent: "apply" })],
    ["gone", OWNED],
  ]);
  expect(await changes(planned)).toEqual(["create b", "update d", "create a", "create c"]);
});

it("what has failed before comes after the creates, under way or not, and before what takes groups away", async () => {
  const records = tenants("a", "b", "c", "d", "e", "f", "g");
  const failed = { failure: aGroupFailure({ retryAt: NOW }) };
  const outdated = (n: number, overrides: Partial<LedgerRow> = {}): LedgerRow =>
    confirmed({ ...records[n], name: "Old" }, overrides);
  const planned = await plan(
    records,
    [
      ["a", { ...NEW_ROW, intent: "apply", ...failed }],
      ["b", { ...NEW_ROW, ...failed }],
      ["c", outdated(2, failed)],
      ["d", outdated(3)],
      ["e", { ...NEW_ROW, intent: "apply" }],
      // That its token could not be rotated says nothing of its group.
      ["f", outdated(5, { intent: "rotate", failure: aGroupFailure({ fingerprint: ROTATED }) })],
      ["gone", OWNED],
      ["not gone yet", { ...OWNED, intent: "delete", ...failed }],
    ],
    { deletion: AT_ONCE },
  );
  expect(await changes(planned)).toEqual([
    "create e",
    "update f",
    "create g",
    "create a",
    "create b",
    "update c",
    "delete not gone yet",
    "update d",
    "delete gone",
  ]);
});

describe("removals", () => {
  const present = tenants("a", "b", "c");
  const renamed = present.map((tenant) => confirmed({ ...tenant, name: "Old" }));
  const ledger: [string, LedgerRow][] = [
    ["a", confirmed(present[0] ?? {})],
    ["b", renamed[1] ?? NEW_ROW],
    ["begun", { ...OWNED, intent: "delete" }],
    ["c", { ...(renamed[2] ?? NEW_ROW), intent: "replace" }],
    ["gone", OWNED],
  ];
  const open = { update: "replace", deletion: AT_ONCE } as const;

  it("come last: first what was begun, then replacements, then deletions", async () => {
    const planned = await plan(tenants("a", "b", "c", "new"), ledger, open);
    expect(planned.clearance).toEqual({ kind: "cleared", approved: false });
    expect(await changes(planned)).toEqual([
      "delete begun",
      "replace c",
      "create new",
      "replace b",
      "delete gone",
    ]);
  });

  it("are held together, but for what was begun with clearance", async () => {
    const closed = { ...AT_ONCE, limit: { count: 1, percent: 0 } };
    const planned = await plan(present, ledger, { ...open, deletion: closed });
    expect(planned.clearance).toMatchObject({ kind: "held" });
    expect(await changes(planned)).toEqual(["delete begun", "replace c"]);
    const held: string[] = [];
    for await (const batch of heldOf(planned)) {
      for (const { kind, user_group_id } of batch) held.push(`${kind} ${user_group_id}`);
    }
    expect(held).toEqual(["replace b", "delete gone"]);
  });

  it("count against all groups, those in buckets that are passed over too", async () => {
    const many = tenants(...Array.from({ length: 50 }, (_, n) => `tenant ${n}`));
    const rows = many.map((record): [string, LedgerRow] => [String(record.id), confirmed(record)]);
    const four = ["w", "x", "y", "z"].map((id): [string, LedgerRow] => [id, OWNED]);
    const held = await plan(many, [...rows, ...four], {
      deletion: { ...AT_ONCE, limit: { count: 3, percent: 7 } },
    });
    expect(held.clearance).toMatchObject({ kind: "held", circumstances: { owned: 54 } });
    const free = await plan(many, [...rows, ...four], {
      deletion: { ...AT_ONCE, limit: { count: 3, percent: 8 } },
    });
    expect(free.clearance.kind).toBe("cleared");
  });
});
