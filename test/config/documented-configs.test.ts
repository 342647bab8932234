import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { configJsonSchema } from "../../src/config/json-schema.ts";
import { insistOnSchema, schemaProblems } from "../support/config-schema.ts";
import { pages, yamlBlocks } from "../support/pages.ts";
import { MINIMAL } from "./config-file.ts";

type Sections = Readonly<Record<string, unknown>>;

const textOf = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

/** The YAML of a page whose first key is one of the config. Other YAML is for other programs. */
const keys = Object.keys(configJsonSchema().properties ?? {});
const examples = pages.flatMap((page) =>
  yamlBlocks(page)
    .filter((yaml) => keys.includes(firstKey(yaml) ?? ""))
    .map((yaml): [page: string, yaml: string] => [page, yaml]),
);

function firstKey(yaml: string): string | undefined {
  const [first] = parseAllDocuments(yaml);
  const value: unknown = first?.toJS();
  return typeof value === "object" && value !== null ? Object.keys(value)[0] : undefined;
}

/** A part of a config, with the required keys that the part leaves out. */
function completed(part: Sections): Sections {
  const [service, source, group] = [part.service, part.source, part.group].map(
    (it) => (it ?? {}) as Sections,
  );
  const { table, ...queried } = MINIMAL.source;
  return {
    ...MINIMAL,
    ...part,
    service: { ...MINIMAL.service, ...service },
    source: { ...queried, ...(source?.query === undefined && { table }), ...source },
    group: { ...MINIMAL.group, ...group },
  };
}

test("the docs have examples of each section that a user writes by hand", () => {
  const sections = new Set(examples.flatMap(([, yaml]) => Object.keys(parse(yaml))));
  const byHand = ["group", "http", "ledger", "name", "service", "source", "tokens"];
  expect(byHand.filter((name) => !sections.has(name))).toEqual([]);
});

test.each(examples)("the JSON Schema accepts an example of %s: %s", (_, yaml) => {
  expect(schemaProblems(completed(parse(yaml)))).toEqual([]);
});

test.each(["config.example.yaml", "deploy/config.yaml", "deploy/compose/trial/config.yaml"])(
  "the JSON Schema accepts %s",
  (path) => {
    insistOnSchema(textOf(path));
  },
);

test("config.example.yaml names the schema in its first line, and how to make it in its second", () => {
  const [first, second] = textOf("config.example.yaml").split("\n");
  const file = /^# yaml-language-server: \$schema=\.\/(.+)$/.exec(first ?? "")?.[1];
  expect(file).toBeDefined();
  expect(second).toContain(`groupsync schema > ${file}`);
});
