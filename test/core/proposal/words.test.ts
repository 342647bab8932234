import { expect, test } from "vitest";
import { hasWords, wordsOf } from "../../../src/core/proposal/words.ts";

test.each([
  ["customer_ids", "customer id"],
  ["CustomerIDs", "customer id"],
  ["Customer ids", "customer id"],
  ["HTTPServerName", "http server name"],
  ["companies", "company"],
  ["businesses", "business"],
  ["status", "status"],
  ["e-mail.address", "e mail address"],
  ["größe_2", "größe 2"],
  ["__", ""],
])("%s is %s", (name, words) => {
  expect(wordsOf(name).join(" ")).toBe(words);
});

test("words count also if they are written as one, but not inside of another word", () => {
  expect(hasWords("warehouse_datasource_id", "data source")).toBe(true);
  expect(hasWords("DataSourceRef", "data source")).toBe(true);
  expect(hasWords("dbid", "db")).toBe(false);
});
