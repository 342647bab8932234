import { expect, test } from "vitest";
import { mappingChoices, wordsOf } from "../../../src/core/proposal/columns.ts";
import { aColumn, aTable } from "../../builders/catalog.ts";

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

test.each([
  ["warehouse_datasource_id", true],
  ["DataSourceRef", true],
  ["dbid", false],
])("words count also if they are written as one, but not inside of another word: %s", (name, isFound) => {
  expect(mappingChoices(aTable("customers", [aColumn(name)]), [])).toHaveLength(isFound ? 1 : 0);
});
