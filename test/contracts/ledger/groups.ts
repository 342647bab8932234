import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compareIds } from "../../../src/core/group/tenant.ts";
import type { BucketOptions } from "../../../src/ports/ledger/groups.ts";
import { anyId } from "../../builders/arbitraries.ts";
import { aDelete, aDeleted, aFailed, aNotUpdated, anApplied, anApply, aRow } from "../../builders/groups.ts";
import { ended } from "../../builders/records.ts";
import { rounds } from "../../support/long.ts";
import { collect } from "../collect.ts";
import { begin, carryOut, groupsOf, LATER, type LedgerPlace, leave, opened, take } from "./rig.ts";

const LONG = "Überlänge ".repeat(30);
/** By the ids of their groups. */
const NAMES = {
  a: "Acme",
  a_: "  acme Ltd.",
  a_1: "ACME\tLtd. & Co",
  "a%": "100% Wool_en",
  A: "100 percent",
  de: "Große Straße",
  tr: "İstanbul ılıca",
  emoji: "❤️ Hearts",
  long: LONG,
  longer: `${LONG}x`,
  odd: "NUL \0, half a pair \ud800",
};
const FOUND_BY_NAME: readonly [text: string, ids: readonly string[]][] = [
  ["acme", ["a", "a_", "a_1"]],
  [" ACME  ltd", ["a_", "a_1"]],
  ["acme_", []],
  ["%", []],
  ["100%", ["a%"]],
  ["100_", []],
  ["100", ["A", "a%"]],
  ["GROSSE STR", ["de"]],
  ["große straẞe", ["de"]],
  ["istanbul ILI", ["tr"]],
  ["İSTANBUL", ["tr"]],
  ["\u2764", ["emoji"]],
  ["❤️ h", ["emoji"]],
  [LONG.toUpperCase(), ["long", "longer"]],
  ["nul \0, HALF a pair \ud800", ["odd"]],
];

/** What becomes of groups that are created and updated. */
export function ledgerGroupsContract(name: string, makePlace: () => Promise<LedgerPlace>): void {
  describe(`${name}: the ledger's groups`, () => {
    test("are summed up by bucket: those at rest, and how many are not", async () => {
      const at = await opened(makePlace);
      const of = (user_group_id: string, bucket: number) =>
        anApply({ user_group_id, row: aRow({ bucket, digest: "9223372036854775807" }) });
      for (const id of ["at rest", "at rest too"]) await carryOut(at, anApplied({ change: of(id, 7) }));
      await carryOut(at, anApplied({ change: of("gone", 7) }));
      await carryOut(at, anApplied({ change: of("unverified", 7), kind: "updated", unverified: true }));
      await carryOut(at, aFailed({ change: of("failed", 7) }), LATER);
      await carryOut(at, anApplied({ change: of("unknown", 7) }));
      await carryOut(at, aNotUpdated({ change: of("unknown", 7), isUnknownState: true }), LATER);
      await take(at, [{ kind: "change_dropped", user_group_id: "unknown" }]);
      await begin(at, of("under way", 7));
      await carryOut(at, anApplied({ change: of("alone", 8) }));
      await leave(at, "absent", { ms: 0, reads: 1 }, ["gone"]);

      const bucketsIn = async (options: BucketOptions) =>
        (await at.ledger.buckets(options)).toSorted((one, other) => one.bucket - other.bucket);
      const alone = { bucket: 8, rows: 1, sum: "9223372036854775807", dirty: 0, owing: 0 };
      expect(await bucketsIn({ unverifiedAtRest: true })).toEqual([
        { bucket: 7, rows: 3, sum: "27670116110564327421", dirty: 4, owing: 2 },
        alone,
      ]);
      expect(await bucketsIn({ unverifiedAtRest: false })).toEqual([
        { bucket: 7, rows: 2, sum: "18446744073709551614", dirty: 5, owing: 2 },
        alone,
      ]);
      const some = await collect(at.ledger.groups([8, 9]));
      expect(some.map((group) => group.user_group_id)).toEqual(["alone"]);
    });

    test("come in the order of their ids' bytes, whatever the ids", async () => {
      const at = await opened(makePlace);
      const ids = fc.uniqueArray(anyId(), { minLength: 1, maxLength: 30 });
      const all = new Set<string>();
      await fc.assert(
        fc.asyncProperty(ids, async (some) => {
          for (const id of some) all.add(id);
          await begin(at, ...some.map((id) => anApply({ user_group_id: id, fingerprint: "f" })));
          await at.database.analyze();
          const groups = await groupsOf(at);
          expect(groups.map((group) => group.user_group_id)).toEqual([...all].sort(compareIds));
          expect([...(await at.ledger.records(some)).keys()]).toEqual([...some].sort(compareIds));
        }),
        { numRuns: rounds(100) },
      );
    });

    test("a canary is owed, and in no list and no count of tenants", async () => {
      const at = await opened(makePlace);
      await carryOut(at, anApplied());
      await take(at, [
        { kind: "probed", user_group_id: "canary", baseUrl: "https://dashboards.example.com" },
      ]);
      const { counts, missing } = await at.ledger.sums();
      expect(counts).toMatchObject({ total: 1, in_sync: 1, missing: 0, under_way: 1 });
      expect(missing).toEqual([]);
      expect((await at.ledger.sums({ kind: "existing" })).counts.total).toBe(1);
      const owing = await at.ledger.candidates({ kind: "owing" }, { limit: 10 });
      expect(owing.map(({ user_group_id }) => user_group_id)).toEqual(["canary"]);
      await take(at, [ended(aDeleted({ change: aDelete({ user_group_id: "canary" }) }))]);
      expect((await at.ledger.journalSum(["delete"], new Date(0))).count).toBe(0);
    });

    test("are found by their ids, whatever is known of them, and unknown ids are left out", async () => {
      const at = await opened(makePlace);
      const of = (user_group_id: string) => anApply({ user_group_id });
      await carryOut(at, anApplied({ change: of("at rest") }));
      await carryOut(at, aFailed({ change: of("failed") }), LATER);
      await begin(at, of("under way"));
      await carryOut(at, anApplied({ change: of("gone") }));
      await leave(at, "flagged", { ms: 5, reads: 1 }, ["gone"]);
      const all = await groupsOf(at);
      expect(all).toHaveLength(4);
      const unknown = ["AT REST", "gone ", "", "a\0", "\ud800"];
      const found = await at.ledger.records([...unknown, "under way", "gone", "failed", "at rest", "gone"]);
      expect([...found.values()]).toMatchObject(all);
      expect([...(await at.ledger.records(["gone", ...unknown])).keys()]).toEqual(["gone"]);
      expect(await at.ledger.records(unknown)).toEqual(new Map());
      expect(await at.ledger.records([])).toEqual(new Map());
    });

    test("are found by how their ids and names begin", async () => {
      const at = await opened(makePlace);
      const events = Object.entries(NAMES).map(([user_group_id, serviceName]) =>
        ended(anApplied({ change: anApply({ user_group_id }), serviceName })),
      );
      await begin(at, ...Object.keys(NAMES).map((user_group_id) => anApply({ user_group_id })));
      expect(await at.ledger.candidates({ kind: "name begins", text: "Acme" }, { limit: 10 })).toEqual([]);
      await take(at, events);
      await begin(at, anApply({ user_group_id: "not named yet" }));
      await at.database.analyze();
      const found = async (kind: "id begins" | "name begins", text: string) =>
        (await at.ledger.candidates({ kind, text }, { limit: 10 })).map(({ user_group_id }) => user_group_id);

      for (const [text, ids] of FOUND_BY_NAME)
        expect([text, await found("name begins", text)]).toEqual([text, ids]);
      expect(await found("id begins", "a_")).toEqual(["a_", "a_1"]);
      expect(await found("id begins", "a%")).toEqual(["a%"]);
      expect(await found("id begins", "A")).toEqual(["A"]);
      for (const text of ["a_1 ", "\0", "\ud800"]) expect(await found("id begins", text)).toEqual([]);
      expect(await at.ledger.sums({ kind: "name begins", text: "acme" })).toMatchObject({
        counts: { total: 3 },
      });
    });

    test("that are found come in pages, in the order of their names, and follow a new name", async () => {
      const at = await opened(makePlace);
      const named = (user_group_id: string, serviceName: string) =>
        carryOut(at, anApplied({ change: anApply({ user_group_id }), serviceName }));
      for (const [id, name] of Object.entries({ 3: "acme b", 1: "Acme c", 4: "ACME a", 2: "acme B" }))
        await named(id, name);
      const list = { kind: "name begins", text: "acme" } as const;
      const first = await at.ledger.candidates(list, { limit: 2 });
      const rest = await at.ledger.candidates(list, { limit: 9, after: first.at(-1) });
      expect([...first, ...rest].map(({ user_group_id }) => user_group_id)).toEqual(["4", "2", "3", "1"]);
      await named("4", "Other");
      expect(await at.ledger.candidates(list, { limit: 9 })).toHaveLength(3);
    });
  });
}
