import { describe, expect, test } from "vitest";
import {
  describeMark,
  formatMark,
  isSameMark,
  isScopeName,
  type OwnersMark,
  parseMark,
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
