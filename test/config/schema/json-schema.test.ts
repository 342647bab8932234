// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is what the config file has
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { configJsonSchema } from "../../../src/config/schema/json-schema.ts";

const schema = configJsonSchema();
const reader = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
const accepts = (config: unknown): boolean => reader.safeParse(config).success;

const required = {
  service: { base_url: "https://dash.example.com", api_key: "${KEY}" },
  source: { url: "${DATABASE_URL}", table: "customers" },
  group: { id: "id", name: "name" },
};

test("the JSON Schema names the required sections", () => {
  expect(schema.required).toEqual(["service", "source", "group"]);
  expect(accepts(required)).toBe(true);
  expect(accepts({ ...required, service: { base_url: "https://dash.example.com" } })).toBe(false);
});

test("the JSON Schema accepts config.example.yaml", () => {
  const example = readFileSync(new URL("../../../config.example.yaml", import.meta.url), "utf8");
  expect(accepts(parse(example))).toBe(true);
});

test.each<[string, object]>([
  ["a section with nothing below its name", { rotation: null, tokens: null }],
  [
    "a reference in place of a number, a boolean and a choice",
    {
      rotation: { concurrency: "${N}" },
      run_at_start: "${NOW:-true}",
      deletion: { when: "${WHEN}" },
    },
  ],
  ["a bare 0 for a duration", { jitter: 0 }],
  ["a list of stores", { tokens: [{ table: "a" }, { store: "file", directory: "/x" }] }],
  ["a single store", { tokens: { store: "gcp_secret_manager", project: 123456789012 } }],
  [
    "every form of a rule",
    {
      group: {
        ...required.group,
        mapping: {
          "40": "a",
          "41": { column: "b", default: 7 },
          "42": { template: "{{ a }}", optional: true },
        },
        properties: { tier: { value: { gold: [1, null] } } },
      },
    },
  ],
  ["a column of JSON", { group: { ...required.group, mapping: "sources" } }],
])("the JSON Schema accepts %s", (_, keys) => {
  expect(accepts({ ...required, ...keys })).toBe(true);
});

test.each<[string, object]>([
  ["an unknown key", { nonsense: 1 }],
  ["an unknown key in a section", { deletion: { limit: { counts: 3 } } }],
  ["a number that is too large", { rotation: { concurrency: 101 } }],
  ["text for a number", { rotation: { concurrency: "many" } }],
  ["an unknown choice", { deletion: { when: "gone" } }],
  ["an unknown store", { tokens: { store: "valut" } }],
  ["a key of another store", { tokens: { store: "file", directory: "/x", table: "t" } }],
  ["an empty list of stores", { tokens: [] }],
])("the JSON Schema refuses %s", (_, keys) => {
  expect(accepts({ ...required, ...keys })).toBe(false);
});
