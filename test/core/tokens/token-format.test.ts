import fc from "fast-check";
import { expect, test } from "vitest";
import { Secret } from "../../../src/core/secret/secret.ts";
import { formatToken, type TokenFormat, tokenIn } from "../../../src/core/tokens/secrets.ts";

const NOW = new Date("2026-03-01T12:00:00Z");
const text = fc.string({ unit: "binary", minLength: 1 });

test.each<TokenFormat>(["token", "json"])("in the format %s, what was put in comes out", (format) => {
  fc.assert(
    fc.property(text, text, (id, token) => {
      const content = formatToken(format, id, new Secret(token), NOW);
      expect(tokenIn(format, id, content)?.reveal()).toBe(token);
    }),
  );
});

test("a bare token is the content as it is", () => {
  expect(formatToken("token", "a", new Secret(" t\n"), NOW).reveal()).toBe(" t\n");
});

test("in JSON the token has its group's id and the time beside it", () => {
  expect(formatToken("json", "a", new Secret("t"), NOW).reveal()).toBe(
    '{"user_group_id":"a","token":"t","rotated_at":"2026-03-01T12:00:00.000Z"}',
  );
});

test("another group's token is none in JSON, whatever its secret is called", () => {
  expect(tokenIn("json", "b", formatToken("json", "a", new Secret("t"), NOW))).toBeUndefined();
});

test.each<[TokenFormat, string]>([
  ["token", ""],
  ["json", ""],
  ["json", "t"],
  ["json", "null"],
  ["json", "[]"],
  ["json", '{"user_group_id":"a"}'],
  ["json", '{"user_group_id":"a","token":""}'],
  ["json", '{"user_group_id":"a","token":1}'],
])("in the format %s there is no token in %j", (format, content) => {
  expect(tokenIn(format, "a", new Secret(content))).toBeUndefined();
});

test("what somebody has added to the JSON is no matter", () => {
  expect(tokenIn("json", "a", new Secret('{ "token": "t", "user_group_id": "a", "x": 1 }'))?.reveal()).toBe(
    "t",
  );
});
