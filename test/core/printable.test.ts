import fc from "fast-check";
import { expect, it } from "vitest";
import { printable, printableId } from "../../src/core/printable.ts";
import { anyText } from "../builders/arbitraries.ts";

it.each([
  ["a newline", "a\nb", "a\\nb"],
  ["an escape sequence", "\u001b[2J", "\\u001b[2J"],
  ["a DEL", "\u007f", "\\u{7f}"],
  ["a right-to-left override", "\u202egpj", "\\u{202e}gpj"],
  ["an invisible tag", "\u{e0041}", "\\u{e0041}"],
  ["a line separator", "\u2028", "\\u{2028}"],
  ["a backslash and quotes, which are harmless", '\\"', '\\"'],
  ["text of any script", "Ünïcode 名前 😀", "Ünïcode 名前 😀"],
])("shows %s", (_, text, shown) => {
  expect(printable(text)).toBe(shown);
});

it("never moves a terminal's cursor, is never too long, and never cuts a character in two", () => {
  const anything = fc.oneof(
    anyText(),
    fc.string({ unit: fc.constantFrom("\u0000", "\u{1f600}", "\u202e", "a") }),
  );
  fc.assert(
    fc.property(anything, fc.integer({ min: 1, max: 20 }), (text, length) => {
      const shown = printable(text, length);
      expect(shown).not.toMatch(/[\p{Cc}\p{Cf}\u2028\u2029]/u);
      expect(shown.length).toBeLessThanOrEqual(length);
      expect(Buffer.from(shown).toString()).toBe(shown);
    }),
  );
});

it("says so where there is no id", () => {
  expect(printableId(null)).toBe("(a row without an id)");
  expect(printableId("a\tb")).toBe("a\\tb");
});
