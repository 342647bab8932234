import { expect, test } from "vitest";
import { mappingChoices, wordsOf } from "../../../src/core/setup/columns.ts";
import { aColumn, aTable } from "../../builders/catalog.ts";

test.each([
  ["customer_id", "customer id"],
  ["CustomerID", "customer id"],
  ["Customer id", "customer id"],
  ["HTTPServerName", "http server name"],
  ["e-mail.address", "e mail address"],
  ["größe_2", "größe 2"],
  ["__", ""],
])("%s is %s", (name, words) => {
  expect(wordsOf(name)).toBe(words);
});

test.each([
  ["warehouse_datasource_id", true],
  ["DataSourceRefs", true],
  ["warehouses", true],
  ["dbid", false],
])("words count also if they are written as one, but not inside of another word: %s", (name, isFound) => {
  expect(mappingChoices(aTable("customers", [aColumn(name)]), [])).toHaveLength(isFound ? 1 : 0);
});
