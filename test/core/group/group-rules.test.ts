import { describe, expect, it } from "vitest";
import { columnsOf, isTemplate, parseTemplate } from "../../../src/core/group/group-rules.ts";

describe("a template", () => {
  it.each([
    ["{{ region }}", [{ column: "region" }]],
    ["wh-{{region}}-{{  plan name }}.", ["wh-", { column: "region" }, "-", { column: "plan name" }, "."]],
    ['{"a":{{ x }}}', ['{"a":', { column: "x" }, "}"]],
  ])("%s has its parts in order", (text, parts) => {
    expect(parseTemplate(text)).toEqual(parts);
  });

  it.each(["{{ region", "region }}", "{{ }}", "{{}}", "{{ a {{ b }}", "{{ a }} }}"])(
    "%s is a mistake",
    (text) => {
      expect(isTemplate(text)).toBe(true);
      expect(parseTemplate(text)).toBeUndefined();
    },
  );

  it("is not what a column name with single braces is", () => {
    expect(isTemplate("{region}")).toBe(false);
  });
});

it("reads each column once, the id first", () => {
  const column = (name: string) => ({ kind: "column", column: name, optional: false }) as const;
  const columns = columnsOf({
    id: "id",
    name: { kind: "template", parts: ["x", { column: "region" }, { column: "id" }], optional: false },
    mapping: { kind: "keys", keys: { a: column("source"), b: { kind: "constant", value: "1" } } },
    properties: { kind: "json", column: "region" },
    dataSourceId: column("warehouse"),
  });
  expect(columns).toEqual(["id", "region", "source", "warehouse"]);
});
