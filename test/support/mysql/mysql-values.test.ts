import { expect, test } from "vitest";
import { withValues } from "./mysql-values.ts";

test("values take the places of their numbers, as often as these come up", () => {
  expect(withValues("SELECT $2, $1, $2 LIMIT $3", ["it's", true, 10])).toBe(
    "SELECT true, 'it\\'s', true LIMIT 10",
  );
});

test("what is in quotes or a comment is no placeholder", () => {
  const text = `SELECT '$1 \\' it''s $1', "$1 "" $1", \`$1\` -- $1 it's
    # $1 "
    /* $1 ' */ , $1`;
  expect(withValues(text, [7])).toBe(text.replace(/\$1$/, "7"));
});

test("a value is written as what it is", () => {
  const literal = (value: unknown): string => withValues("$1", [value]);
  expect(literal(null)).toBe("NULL");
  expect(literal(9007199254740993n)).toBe("9007199254740993");
  expect(literal(new Date("2024-02-29T12:00:00.125Z"))).toBe("'2024-02-29 12:00:00.125'");
  expect(literal(Buffer.from("é"))).toBe("X'c3a9'");
  expect(literal({ a: ["$1"] })).toBe(`'{\\"a\\":[\\"$1\\"]}'`);
});

test("a placeholder without a value is refused", () => {
  expect(() => withValues("SELECT $2", ["one"])).toThrow("there is no value for $2");
  expect(() => withValues("SELECT $1", [undefined])).toThrow("undefined");
});
