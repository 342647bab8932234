import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  hidesCharacters,
  printable,
  printableId,
  shellWord,
  visible,
} from "../../../src/core/text/printable.ts";
import { anyJson, anyText } from "../../builders/arbitraries.ts";

it.each([
  ["a newline", "a\nb", "a\\nb"],
  ["an escape sequence", "\u001b[2J", "\\u001b[2J"],
  ["a DEL", "\u007f", "\\u{7f}"],
  ["a right-to-left override", "\u202egpj", "\\u{202e}gpj"],
  ["an invisible tag", "\u{e0041}", "\\u{e0041}"],
  ["a letter without a shape", "\u034f\u2800", "\\u{34f}\\u{2800}"],
  ["the form of an emoji or of a character, which shows", "❤\ufe0f 葛\u{e0100}", "❤\ufe0f 葛\u{e0100}"],
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

it.each(["\u034f", "\u2800", "\u17b4", "\u180b", "\ufe0f", "\u{e0100}", "\u3164", "\u202e", "\0"])(
  "nobody sees %j",
  (char) => {
    expect(hidesCharacters(`a${char}b`)).toBe(true);
  },
);

describe("what leaves the process", () => {
  const UNSEEN = /[\u007f-\u009f\p{Cf}\u2028\u2029\u115f\u1160\u3164\uffa0]/u;
  const unseen = fc.constantFrom(
    ..."\u007f\u0080\u0085\u009b\u009f\u00ad\u061c\u200b\u200d\u200e\u200f\u2028\u2029\u202a\u202e\u2066\u2069\ufeff\u3164\u{e0041}",
  );
  const text = fc.string({ unit: fc.oneof(unseen, fc.constantFrom("a", '"', "\\", "\n", "😀", "名")) });

  it("holds nothing that nobody sees, and as JSON has the same value", () => {
    fc.assert(
      fc.property(fc.oneof(text, anyText(), anyJson()), (value) => {
        const json = JSON.stringify(value);
        expect(visible(json)).not.toMatch(UNSEEN);
        expect(JSON.parse(visible(json))).toEqual(JSON.parse(json));
      }),
    );
  });

  it("keeps its lines and its colours, and text of any script", () => {
    const output = "\u001b[31mrot\u001b[39m\n\tÜnïcode 名前 😀 ❤️\n";
    expect(visible(output)).toBe(output);
  });

  it("shows the rest as JSON does", () => {
    expect(visible("a\u202eb\u009b31m\u{e0041}")).toBe("a\\u202eb\\u009b31m\\udb40\\udc41");
  });
});

it("names a row without an id, and quotes an id with a blank at one of its ends", () => {
  expect(printableId(null)).toBe("(a row without an id)");
  expect(printableId("a\tb")).toBe("a\\tb");
  expect(printableId("t-1 ")).toBe('"t-1 "');
  expect(printableId(" ")).toBe('" "');
});

it.each(["it's", "-x", "a b", "$(reboot)", "tab\there", "per%cent", "ä\u202e!"])(
  "%j is one word of a shell command",
  (id) => {
    const words = execFileSync("bash", ["-c", `printf '%s\\n' --only ${shellWord(id)}`]);
    expect(String(words)).toBe(`--only\n${id}\n`);
  },
);
