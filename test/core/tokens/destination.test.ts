import { describe, expect, test } from "vitest";
import {
  dependsOnTokens,
  describeMark,
  type FoundMark,
  type FoundTokenTable,
  formatMark,
  isSameMark,
  isScopeName,
  leadsElsewhere,
  type Ownership,
  type OwnersMark,
  ownershipOf,
  parseMark,
  type TokenTable,
} from "../../../src/core/tokens/destination.ts";

const aMark = (overrides: Partial<OwnersMark> = {}): OwnersMark => ({
  name: "ours",
  baseUrl: "https://a",
  teamId: 7,
  ledgerId: "L1",
  ...overrides,
});
const NAME_ONLY = { baseUrl: null, teamId: null, ledgerId: null };

describe("a mark", () => {
  test.each([aMark(), aMark({ teamId: null }), aMark({ name: '"ä' })])(
    "is read as it was written",
    (mark) => {
      expect(parseMark(formatMark(mark))).toEqual(mark);
    },
  );

  test.each([
    "",
    "{",
    "null",
    "[]",
    "7",
    "{}",
    formatMark(aMark()).slice(0, -5),
    '{"name":"ours","base_url":"u"}',
  ])("is not read from %j", (text) => expect(parseMark(text)).toBeNull());

  test("is described with what it says about its owner", () => {
    expect(describeMark(aMark())).toBe('"ours" (https://a, team 7)');
    expect(describeMark(aMark({ teamId: null }))).toBe('"ours" (https://a)');
    expect(describeMark(aMark(NAME_ONLY))).toBe('"ours"');
    expect(describeMark(aMark({ ...NAME_ONLY, name: null }))).toBe("somebody else");
  });

  test.each<[OwnersMark | null, boolean]>([
    [aMark(), true],
    [aMark({ name: "theirs" }), false],
    [aMark({ baseUrl: "https://b" }), false],
    [aMark({ teamId: null }), false],
    [aMark({ ledgerId: "L2" }), false],
    [null, false],
  ])("is compared in every field: %j", (other, isSame) => {
    expect(isSameMark(aMark(), other)).toBe(isSame);
  });
});

test.each([
  ["default", true],
  ["eu-1.prod_2", true],
  ["a".repeat(64), true],
  ["a".repeat(65), false],
  ["", false],
  ["two words", false],
  ["ä", false],
])("%j can be the name of a config: %s", (name, isPossible) => {
  expect(isScopeName(name)).toBe(isPossible);
});

const SELF = { name: "ours", baseUrl: "https://a", ledgerId: "L1" };

/** By what this ledger knows, and whether tokens are there. */
type Row = readonly [knows: Ownership, emptyAndNone: Ownership, emptyAndSome: Ownership];

const REFUSED: Row = ["refuse", "refuse", "refuse"];
const KEPT: Row = ["keep", "keep", "keep"];

// biome-ignore format: a table is read by its columns
const TABLE: readonly (readonly [what: string, mark: FoundMark, row: Row])[] = [
  ["none",                                  null,                                    ["claim", "claim", "adopt"]],
  ["of our name, and no more is known",     aMark(NAME_ONLY),                        REFUSED],
  ["of another name, and no more is known", aMark({ ...NAME_ONLY, name: "theirs" }), REFUSED],
  ["somebody's",                            aMark({ ...NAME_ONLY, name: null }),     REFUSED],
  ["ours",                                  aMark(),                                 KEPT],
  ["ours, without an answer",               aMark({ teamId: null }),                 KEPT],
  ["ours, without an answer from another service", aMark({ teamId: null, baseUrl: "https://b" }), KEPT],
  ["ours, of another service",              aMark({ baseUrl: "https://b" }),         REFUSED],
  ["of another ledger",                     aMark({ ledgerId: "L2" }),               ["refuse", "adopt", "adopt"]],
  ["of another ledger, without an answer",  aMark({ ledgerId: "L2", teamId: null }), ["refuse", "adopt", "adopt"]],
  ["of another ledger and service",         aMark({ ledgerId: "L2", baseUrl: "https://b" }), REFUSED],
  ["of another ledger and service, without an answer", aMark({ ledgerId: "L2", baseUrl: "https://b", teamId: null }), REFUSED],
  ["of another name in this ledger",        aMark({ name: "theirs" }),               REFUSED],
  ["of another name and ledger",            aMark({ name: "theirs", ledgerId: "L2" }), REFUSED],
  ["unreadable",                            "unreadable",                            ["unmarked", "unmarked", "refuse"]],
];

describe("a destination whose mark is", () => {
  test.each(TABLE)("%s", (_, mark, [knows, emptyAndNone, emptyAndSome]) => {
    const known = { ...SELF, knowsGroups: true };
    const empty = { ...SELF, knowsGroups: false };
    expect([false, true].map((holds) => ownershipOf(mark, holds, known))).toEqual([knows, knows]);
    expect([false, true].map((holds) => ownershipOf(mark, holds, empty))).toEqual([
      emptyAndNone,
      emptyAndSome,
    ]);
    expect(dependsOnTokens(mark, empty)).toBe(emptyAndNone !== emptyAndSome);
  });

  test("a full one of another ledger is adopted, too, by a ledger that has no tables yet", () => {
    expect(ownershipOf(aMark(NAME_ONLY), true, { ...SELF, ledgerId: null, knowsGroups: false })).toBe(
      "refuse",
    );
    expect(ownershipOf(aMark(), true, { ...SELF, ledgerId: null, knowsGroups: false })).toBe("adopt");
  });
});

const BEFORE: TokenTable = { written: "tokens", schema: "public", table: "tokens", owner: "groupsync" };

test.each<[string, Partial<FoundTokenTable>, boolean]>([
  ["the same table", {}, false],
  ["one of another schema", { schema: "groupsync" }, true],
  ["one of another owner", { owner: "mallory" }, true],
  ["one of another owner that the config names", { owner: "app", isOwnerNamed: true }, false],
  ["one that is not there yet", { owner: null }, false],
  ["one that is not there yet, in another schema", { schema: "groupsync", owner: null }, true],
])("%s", (_, now, isElsewhere) => {
  expect(leadsElsewhere(BEFORE, { ...BEFORE, isOwnerNamed: false, ...now })).toBe(isElsewhere);
});
