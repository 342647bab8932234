import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyId, anyName, anyObject } from "../../builders/arbitraries.ts";
import { anAbsence } from "../../builders/groups.ts";
import { type LedgerRow, NEW_ROW } from "../../fakes/ledger/ledger-state.ts";
import { tenants } from "../../fakes/world.ts";
import { AT_ONCE, aPlan, changes, confirmed, inShort, OWNED } from "./a-plan.ts";

const anyRecords = fc.uniqueArray(fc.record({ id: anyId(), name: anyName(), properties: anyObject() }), {
  selector: ({ id }) => id,
  maxLength: 10,
});
const anyBatch = fc.integer({ min: 1, max: 5 });

describe("a plan", () => {
  it("is empty if the ledger has exactly these tenants", async () => {
    await fc.assert(
      fc.asyncProperty(anyRecords, fc.tuple(anyBatch, anyBatch), async (records, batches) => {
        const ledger = records.map((record) => [record.id, confirmed(record)] as const);
        const planned = await aPlan(records, ledger, { batches });
        expect(inShort(planned)).toEqual([]);
        expect(planned.unchanged).toBe(records.length);
      }),
    );
  });

  it("creates groups for new tenants, and records which tenants left", async () => {
    await fc.assert(
      fc.asyncProperty(
        anyRecords,
        fc.func(fc.constantFrom("both", "source", "ledger")),
        async (records, where) => {
          const at = (place: string) => records.filter(({ id }) => where(id) === place);
          const [both, source, ledger] = [at("both"), at("source"), at("ledger")];
          const rows = [...both, ...ledger].map((record) => [record.id, confirmed(record)] as const);
          const planned = await aPlan([...both, ...source], rows);
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

  it("records that a tenant came back, besides its action", async () => {
    const same = { id: "a", name: "A" };
    const renamed = { id: "b", name: "B" };
    const broken = { id: "c", name: null };
    const gone = { absence: anAbsence() };
    const planned = await aPlan(
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

  it("takes no tenant for gone if the source has no valid row", async () => {
    const planned = await aPlan([{ id: null }, { id: "b", name: null }], [["a", OWNED]], {
      deletion: AT_ONCE,
    });
    expect(planned.conclusive).toBe(false);
    expect(planned.guard).toEqual({ kind: "inconclusive", gone: 1, kept: 0 });
    expect(await changes(planned)).toEqual([]);
  });
});

describe("a plan for some ids alone", () => {
  const records = tenants("a", "b", "c");

  it("leaves out all other tenants, and rows without an id", async () => {
    const planned = await aPlan([...records, { id: null }], [["gone", OWNED]], { only: ["b"] });
    expect(inShort(planned)).toEqual(["create b"]);
    expect(planned.conclusive).toBe(true);
  });

  it("looks these ids up, in the source and in the ledger, and reads nothing else", async () => {
    const { calls } = await aPlan(records, [["gone", OWNED]], { only: ["b", "gone"] });
    expect(calls.filter((call) => ["rowsOf", "groupsOf"].includes(call))).toHaveLength(2);
    for (const call of ["openSource", "rows", "sourceBuckets", "ledgerBuckets", "groups", "existingCount"])
      expect(calls).not.toContain(call);
  });

  it("rejects a row that is there twice", async () => {
    const planned = await aPlan([...records, ...tenants("b")], [["b", OWNED]], { only: ["b"] });
    expect(inShort(planned)).toEqual(["rejected b"]);
  });

  it("includes ids that only the ledger has, and takes no tenant for gone, whatever the ledger says", async () => {
    const groups: [string, LedgerRow][] = [
      ["deleting", { ...OWNED, intent: "delete" }],
      ["gone", OWNED],
      ["held", { ...OWNED, absence: anAbsence(), held: "delete" }],
      ["never made", NEW_ROW],
      ["removing", { ...OWNED, intent: "remove" }],
    ];
    const only = groups.map(([id]) => id);
    const planned = await aPlan(records, groups, { only, deletion: AT_ONCE });
    expect(inShort(planned)).toEqual([
      "missing deleting",
      "missing gone",
      "missing held",
      "gone never made",
      "missing removing",
    ]);
    expect(planned.guard).toEqual({ kind: "allowed", approved: false });
    expect(await changes(planned)).toEqual([]);
  });

  it("holds replacements beyond the limit, which is that of the whole ledger", async () => {
    const outdated = records.map((record): [string, LedgerRow] => [
      record.id as string,
      confirmed(record, { fingerprint: "of an older row" }),
    ]);
    const others = Array.from({ length: 27 }, (_, n): [string, LedgerRow] => [`other ${n}`, OWNED]);
    const replacements = async (ledger: Iterable<[string, LedgerRow]>): Promise<string[]> => {
      const limit = { count: 1, percent: 10 };
      const options = { only: ["a", "b", "c"], update: "replace", deletion: { ...AT_ONCE, limit } } as const;
      return changes(await aPlan(records, ledger, options));
    };
    expect(await replacements(outdated)).toEqual([]);
    expect(await replacements([...outdated, ...others])).toEqual(["replace a", "replace b", "replace c"]);
    const begun: [string, LedgerRow] = ["begun", { ...OWNED, intent: "delete" }];
    expect(await replacements([...outdated, ...others, begun])).toEqual([]);
  });

  it("is refused with the name of every unknown id", async () => {
    await expect(aPlan(records, [], { only: ["a", "A", " a"] })).rejects.toMatchObject({
      code: "UNKNOWN_ID",
      message: 'neither the source nor the ledger has "A", " a"',
    });
  });
});
