import { expect, test } from "vitest";
import { Secret } from "../../../src/core/secret/secret.ts";
import { hasBearerKey } from "../../../src/daemon/sync-requests/bearer-key.ts";

const KEY = "a-key-of-24-characters-0";
const key = new Secret(KEY);

test.each([`Bearer ${KEY}`, `bearer ${KEY}`, `BEARER   ${KEY}`])("the key is right in %s", (header) => {
  expect(hasBearerKey([header], key)).toBe(true);
});

test.each([
  [undefined],
  [[]],
  [[""]],
  [[KEY]],
  [["Bearer"]],
  [["Bearer "]],
  [[`Token ${KEY}`]],
  [[`Basic ${KEY}`]],
  [[`Bearer${KEY}`]],
  [[`Bearer ${KEY} `]],
  [[`Bearer ${KEY.slice(0, -1)}`]],
  [[`Bearer ${KEY}0`]],
  [[`Bearer ${KEY.toUpperCase()}`]],
  [[`Bearer ${"x".repeat(10_000)}`]],
  [[`Bearer ${KEY}`, `Bearer ${KEY}`]],
  [[`Bearer ${KEY}`, "Bearer other"]],
  [["Bearer other", `Bearer ${KEY}`]],
  [[`Bearer ${KEY}, Bearer ${KEY}`]],
])("the key is missing or wrong in %j", (headers) => {
  expect(hasBearerKey(headers, key)).toBe(false);
});

test("a key beyond ASCII is right as the bytes of its UTF-8", () => {
  const bytes = Buffer.from("Bearer schlüssel-🔑-schlüssel").toString("latin1");
  expect(hasBearerKey([bytes], new Secret("schlüssel-🔑-schlüssel"))).toBe(true);
});
