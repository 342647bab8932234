import { describe, expect, test } from "vitest";
import {
  dependsOnTokens,
  type FoundMark,
  type Ownership,
  type OwnersMark,
  ownershipOf,
} from "../../../src/core/tokens/destination.ts";

const SELF = { name: "ours", baseUrl: "https://a", ledgerId: "L1" };
const aMark = (overrides: Partial<OwnersMark> = {}): OwnersMark => ({
  name: "ours",
  baseUrl: "https://a",
  teamId: 7,
  ledgerId: "L1",
  ...overrides,
});
const NAME_ONLY = { baseUrl: null, teamId: null, ledgerId: null };

/** By what this ledger knows, and whether tokens are there. */
type Row = readonly [knows: Ownership, emptyAndNone: Ownership, emptyAndSome: Ownership];

const REFUSED: Row = ["refuse", "refuse", "refuse"];
const KEPT: Row = ["keep", "keep", "keep"];

// biome-ignore format: a table is read by its columns
const TABLE: readonly (readonly [what: string, mark: FoundMark, row: Row])[] = [
  ["none",                                  null,                                    ["claim", "claim", "adopt"]],
  ["an older groupsync's with our name",    aMark(NAME_ONLY),                        ["claim", "claim", "adopt"]],
  ["an older groupsync's with another name", aMark({ ...NAME_ONLY, name: "theirs" }), REFUSED],
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
    expect(ownershipOf(aMark(), true, { ...SELF, ledgerId: null, knowsGroups: false })).toBe("adopt");
  });
});
