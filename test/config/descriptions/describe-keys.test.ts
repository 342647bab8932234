import { expect, test } from "vitest";
import {
  describeConfig,
  kindOf,
  propertiesOf,
  type SchemaNode,
  sectionsIn,
} from "../../../src/config/descriptions/describe-keys.ts";
import { configJsonSchema } from "../../../src/config/schema/json-schema.ts";

const schema = configJsonSchema() as SchemaNode;
const below = (node: SchemaNode, key: string): SchemaNode => {
  const found = sectionsIn(node).flatMap(propertiesOf);
  return found.find(([name]) => name === key)?.[1] ?? {};
};
const at = (...path: readonly string[]): string | undefined =>
  path.reduce<SchemaNode>(below, schema).description;

test("a key's text is followed by what holds without it, and by the page that says more, without code marks", () => {
  expect(at("source", "row_security")).toMatch(
    /^On PostgreSQL: .* If left out: error\. See docs\/security\.md\.$/,
  );
  expect(at("service", "timeout")).toBe("How long groupsync waits for the answer to one request.");
  expect(at("deletion", "limit", "percent")).toBe("A share of the groups that groupsync owns.");
});

test("a key that several token stores have means in each what it means there", () => {
  const textOf = (store: string, key: string): (string | undefined)[] =>
    sectionsIn(below(schema, "tokens"))
      .filter((section) => kindOf(section, [store]) === store)
      .map((section) => below(section, key).description);
  expect(new Set(textOf("vault", "namespace"))).toEqual(new Set(["The namespace. If left out: none."]));
  expect(new Set(textOf("kubernetes", "namespace"))).toEqual(
    new Set(["The namespace. If left out: the service account's, or the context's."]),
  );
});

test("the keys of a rule are described, wherever a rule may stand", () => {
  for (const place of [["name"], ["mapping"], ["properties"], ["data_source_provided_id"]]) {
    expect(at("group", ...place, "value")).toBe("A constant.");
  }
});

test("a key without a description stays without one", () => {
  const other: SchemaNode = { properties: { unheard_of: { type: "string" } } };
  describeConfig(other);
  expect(other).toEqual({ properties: { unheard_of: { type: "string" } } });
});
