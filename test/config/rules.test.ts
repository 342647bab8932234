import { describe, expect, it } from "vitest";
import { load, problemsOf, withKeys } from "./config-file.ts";

describe("a rule", () => {
  it("has a text form and a map form", () => {
    const { group } = load(
      withKeys({
        group: {
          name: { column: "label", default: 7 },
          mapping: {
            "40": "source",
            "41": "wh-{{ region }}",
            "42": { value: 17 },
            "43": { column: "extra", optional: true },
            "44": { template: "{{ region }}", optional: true },
          },
          data_source_provided_id: { column: "source", default: 8 },
          properties: {
            tier: { value: { gold: [1, null] } },
            none: { value: null },
            plan: { column: "plan", default: {} },
          },
        },
      }),
    );
    expect(group).toEqual({
      id: "id",
      name: { kind: "column", column: "label", optional: false, default: "7" },
      mapping: {
        kind: "keys",
        keys: {
          "40": { kind: "column", column: "source", optional: false },
          "41": { kind: "template", parts: ["wh-", { column: "region" }], optional: false },
          "42": { kind: "constant", value: "17" },
          "43": { kind: "column", column: "extra", optional: true },
          "44": { kind: "template", parts: [{ column: "region" }], optional: true },
        },
      },
      properties: {
        kind: "keys",
        keys: {
          tier: { kind: "constant", value: { gold: [1, null] } },
          none: { kind: "constant", value: null },
          plan: { kind: "column", column: "plan", optional: false, default: {} },
        },
      },
      dataSourceId: { kind: "column", column: "source", optional: false, default: "8" },
    });
  });

  it("may be replaced by one JSON column for a whole set", () => {
    const { mapping, properties } = load(
      withKeys({ group: { mapping: "sources", properties: "attributes" } }),
    ).group;
    expect(mapping).toEqual({ kind: "json", column: "sources" });
    expect(properties).toEqual({ kind: "json", column: "attributes" });
  });

  it.each<[string, object, string]>([
    [
      "a data source that is JSON",
      { group: { data_source_provided_id: { value: {} } } },
      "group.data_source_provided_id.value: is not text",
    ],
    [
      "an optional template name",
      { group: { name: { template: "{{ a }}", optional: true } } },
      "group.name.optional: ",
    ],
    ["a template for a whole object", { group: { mapping: "{{ a }}" } }, "group.mapping: is not a set"],
    [
      "a default that is no scalar",
      { group: { name: { column: "a", default: {} } } },
      "group.name.default: is not",
    ],
    [
      "two forms in one rule",
      { group: { mapping: { "40": { value: 1, column: "a" } } } },
      "group.mapping.40.column: cannot stand beside value; keep one of the two",
    ],
    [
      "an option of a constant",
      { group: { mapping: { "40": { value: 1, optional: true } } } },
      "group.mapping.40.optional: means nothing beside value",
    ],
    [
      "a blank data source",
      { group: { mapping: { "40": { value: " " } } } },
      "group.mapping.40.value: is empty; write the id of a data source",
    ],
    [
      "a default of a template",
      { group: { mapping: { "40": { template: "{{ a }}", default: "x" } } } },
      "group.mapping.40.default: goes only with column, and not with template",
    ],
  ])("is refused, such as %s", (_, keys, problem) => {
    expect(problemsOf(withKeys(keys))).toContain(`1 problem:\n  line 1  ${problem}`);
  });
});
