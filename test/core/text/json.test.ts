import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalJson, type Json, parseJson } from "../../../src/core/text/json.ts";
import { anyJson, anyText, reordered } from "../../builders/arbitraries.ts";

describe("canonical JSON", () => {
  it("doesn't depend on the order of keys, at any depth", () => {
    fc.assert(fc.property(anyJson(), (value) => canonicalJson(reordered(value)) === canonicalJson(value)));
  });

  it("gives the value back, so that different values give different text", () => {
    fc.assert(fc.property(anyJson(), (value) => isDeepStrictEqual(JSON.parse(canonicalJson(value)), value)));
  });

  it("sorts keys as texts, although JavaScript puts whole numbers first and by their size", () => {
    expect(canonicalJson({ 9: 1, 10: { b: [{ z: 1, a: 2 }], a: 0 }, "-": 3 })).toBe(
      '{"-":3,"10":{"a":0,"b":[{"a":2,"z":1}]},"9":1}',
    );
  });

  it("tells a number from the same digits as text, and an own __proto__ from none", () => {
    const own = JSON.parse('{"__proto__": 1}') as Json;
    expect(canonicalJson(own)).toBe('{"__proto__":1}');
    expect(canonicalJson([1])).not.toBe(canonicalJson(["1"]));
  });
});

describe("parsing JSON", () => {
  it("gives what JSON.parse gives wherever that is exact", () => {
    fc.assert(
      fc.property(anyJson(), (value) => {
        const text = JSON.stringify(value, null, 1);
        if (/\d{16}/.test(text)) return;
        expect(isDeepStrictEqual(parseJson(text), JSON.parse(text))).toBe(true);
      }),
    );
  });

  it("keeps every digit of an integer: beyond ±(2^53-1) as text", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }), anyText(), (integer, text) => {
        const parsed = parseJson(`{"n": [${integer}], ${JSON.stringify(`${text}"${integer}`)}: ${integer}}`);
        const safe = integer >= -(2n ** 53n) + 1n && integer <= 2n ** 53n - 1n;
        const expected = safe ? Number(integer) : String(integer);
        expect(parsed).toEqual({ n: [expected], [`${text}"${integer}`]: expected });
      }),
    );
  });

  it.each([
    ["9007199254740991", 9007199254740991],
    ["9007199254740992", "9007199254740992"],
    ["-9007199254740993", "-9007199254740993"],
    ['"12345678901234567890"', "12345678901234567890"],
    ['"\\"12345678901234567890"', '"12345678901234567890'],
    ["0.1234567890123456789", 0.12345678901234568],
    ["1e22", 1e22],
  ])("reads %s", (text, value) => {
    expect(parseJson(text)).toEqual(value);
  });

  it.each(["1e400", "-1E+400", "123456789012345.5e999"])(
    "keeps %s, which no number can hold, as text",
    (text) => {
      expect(parseJson(`[${text}]`)).toEqual([text]);
    },
  );

  it.each([
    "{12345678901234567890: 1}",
    "[01234567890123456789]",
    "[12345678901234567890",
    '"12345678901234567890',
    "nope",
    "",
  ])("refuses %s as JSON.parse does", (text) => {
    expect(() => JSON.parse(text)).toThrow(SyntaxError);
    expect(() => parseJson(text)).toThrow(SyntaxError);
  });

  it("reads long text beside a long integer", () => {
    const text = "x".repeat(20_000_000);
    expect(parseJson(`{"text":"${text}","n":12345678901234567890}`)).toMatchObject({
      n: "12345678901234567890",
    });
  });
});
