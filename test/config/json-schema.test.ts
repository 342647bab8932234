// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is what the config file has
import { expect, test } from "vitest";
import { stringify } from "yaml";
import { configJsonSchema } from "../../src/config/json-schema.ts";
import { loadConfig } from "../../src/config/load.ts";
import { schemaProblems } from "../support/config-schema.ts";

const required = {
  service: { base_url: "https://dash.example.com", api_key: "${KEY}" },
  source: { url: "${DATABASE_URL}", table: "customers" },
  group: { id: "id", name: "name" },
};

const env = {
  KEY: "k3y",
  DATABASE_URL: "postgres://localhost/crm",
  N: "7",
  NOW: "false",
  WHEN: "never",
  STORE: "file",
};

test("the JSON Schema names the required sections", () => {
  expect(configJsonSchema().required).toEqual(["service", "source", "group"]);
  expect(schemaProblems({ ...required, service: { base_url: "https://dash.example.com" } })).toEqual([
    "/service must have required property 'api_key'",
  ]);
});

test("a key's text is followed by what holds without it, without code marks", () => {
  const text = JSON.stringify(configJsonSchema());
  expect(text).toMatch(/"On PostgreSQL: what happens if [^"]* If left out: error\."/);
  expect(text).toContain('"The namespace. If left out: none."');
  expect(text).toContain(
    '"The namespace. If left out: the namespace of the service account, or else of the context."',
  );
  expect(text).toContain('"A constant."');
});

// The tests of the config load many more, and each time the JSON Schema has to accept the same config.
test.each<[string, object]>([
  ["a section with nothing below its name", { rotation: null, tokens: null }],
  [
    "a reference in place of a number, a boolean and a choice",
    {
      rotation: { concurrency: "${N}" },
      deletion: { limit: { count: "${N}", percent: "${N}" } },
      run_at_start: "${NOW:-true}",
      tokens: { store: "${STORE}", directory: "/x" },
      service: { ...required.service, update: "${WHEN}", allow_http: "${NOW}" },
    },
  ],
])("the JSON Schema and the program accept %s", (_, keys) => {
  const config = { ...required, ...keys };
  expect(schemaProblems(config)).toEqual([]);
  expect(() => loadConfig("config.yaml", { env, readFile: () => stringify(config) })).not.toThrow();
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
])("the JSON Schema and the program refuse %s", (_, keys) => {
  const config = { ...required, ...keys };
  expect(schemaProblems(config)).not.toEqual([]);
  expect(() => loadConfig("config.yaml", { env, readFile: () => stringify(config) })).toThrow();
});
