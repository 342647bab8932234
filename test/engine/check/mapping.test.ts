import { expect, test } from "vitest";
import { mappingFindings } from "../../../src/engine/check/mapping.ts";
import { column } from "../../builders/rules.ts";
import { signsOf } from "./findings.ts";

test("a config without a mapping is a warning: each group would see each schema's default data source", () => {
  expect(signsOf([...mappingFindings({ kind: "keys", keys: {} })])).toEqual(["!"]);
  expect([...mappingFindings({ kind: "keys", keys: { "40": column("source") } })]).toEqual([]);
  expect([...mappingFindings({ kind: "json", column: "mapping" })]).toEqual([]);
});
