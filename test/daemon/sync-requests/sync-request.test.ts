import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { idOf, waitOf } from "../../../src/daemon/sync-requests/sync-request.ts";
import { anyText } from "../../builders/arbitraries.ts";

describe("the id in a path", () => {
  test("is any text that was percent-encoded", () => {
    fc.assert(
      fc.property(anyText({ minLength: 1 }), (id) => {
        expect(idOf(encodeURIComponent(id))).toBe(id);
      }),
    );
  });

  test("is any text of which every byte was percent-encoded", () => {
    fc.assert(
      fc.property(anyText({ minLength: 1 }), (id) => {
        const bytes = [...Buffer.from(id)].map((byte) => `%${byte.toString(16).padStart(2, "0")}`);
        expect(idOf(bytes.join(""))).toBe(id);
      }),
    );
  });

  test.each([
    ["107", "107"],
    ["%2E", "."],
    ["%2e%2E", ".."],
    ["..", ".."],
    ["a%2Fb", "a/b"],
    ["a%3Fb%23c", "a?b#c"],
    ["a%2525b", "a%25b"],
    ["a+b", "a+b"],
    ["%20", " "],
    ["%00", "\0"],
    ["%F0%9F%8D%95", "🍕"],
    ["{user_group_id}", "{user_group_id}"],
    ["__proto__", "__proto__"],
  ])("%s is %j", (segment, id) => {
    expect(idOf(segment)).toBe(id);
  });

  test.each([
    ["nothing", ""],
    ["two segments", "a/b"],
    ["a slash at the end", "a/"],
    ["a percent sign alone", "100%"],
    ["half of an encoded byte", "a%2"],
    ["no hexadecimal digits", "%zz"],
    ["half of a character", "%F0%9F"],
    ["more bytes than the character needs", "%C0%AF"],
    ["half of a surrogate pair", "%ED%A0%80"],
    ["bytes beyond ASCII, as Node.js passes them on", "gr\u00c3\u00bc\u00c3\u009fe"],
    ["a blank", "a b"],
    ["a tab", "a\tb"],
  ])("is none if it is %s", (_, segment) => {
    expect(idOf(segment)).toBeUndefined();
  });
});

describe("the wait in a query", () => {
  test.each([
    ["", 10_000],
    ["other=1", 10_000],
    ["wait=0", 0],
    ["wait=500ms", 500],
    ["wait=10s", 10_000],
    ["a=b&wait=1m&c", 60_000],
    ["wait=%31s", 1_000],
  ])("%j is %d ms", (query, ms) => {
    expect(waitOf(query)).toBe(ms);
  });

  test.each([
    "wait",
    "wait=",
    "wait=10",
    "wait=-1s",
    "wait=61s",
    "wait=1e9s",
    "wait=1s&wait=2s",
    "wait=1s,2s",
  ])("%j is wrong", (query) => {
    expect(waitOf(query)).toBeUndefined();
  });
});
