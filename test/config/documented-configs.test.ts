import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { configJsonSchema } from "../../src/config/schema/json-schema.ts";
import { insistOnSchema, schemaProblems } from "../support/config-schema.ts";
import { MINIMAL } from "./config-file.ts";

const REPOSITORY = new URL("../../", import.meta.url);
const textOf = (path: string): string => readFileSync(new URL(path, REPOSITORY), "utf8");
const pages = [
  ...readdirSync(REPOSITORY).filter((name) => name.endsWith(".md")),
  ...readdirSync(new URL("docs", REPOSITORY)).map((name) => `docs/${name}`),
];

/** The YAML of a page that begins with a key of the config. Other YAML is for other programs. */
const keys = Object.keys(configJsonSchema().properties ?? {});
const examples = pages.flatMap((page) =>
  [...textOf(page).matchAll(/^ *```yaml\n(.*?)^ *```$/gms)]
    .map(([, yaml = ""]) => yaml)
    .filter((yaml) => keys.includes(yaml.split(":")[0] ?? ""))
    .map((yaml): [page: string, yaml: string] => [page, yaml]),
);

/** A part of a config, with the required keys that the part leaves out. */
const completed = (part: Readonly<Record<string, object>>): object => ({
  ...MINIMAL,
  ...part,
  service: { ...MINIMAL.service, ...part.service },
  source: { ...MINIMAL.source, ...part.source },
});

test("the docs have examples of each section that a user writes by hand", () => {
  const sections = new Set(examples.flatMap(([, yaml]) => Object.keys(parse(yaml))));
  expect([...sections].sort()).toEqual(["group", "http", "ledger", "name", "service", "source", "tokens"]);
});

test.each(examples)("the JSON Schema accepts an example of %s: %s", (_, yaml) => {
  expect(schemaProblems(completed(parse(yaml)))).toEqual([]);
});

test.each(["config.example.yaml", "deploy/config.yaml"])("the JSON Schema accepts %s", (path) => {
  insistOnSchema(textOf(path));
});

test("config.example.yaml names the schema in its first line, and how to make it in its second", () => {
  const [first, second] = textOf("config.example.yaml").split("\n");
  const file = /^# yaml-language-server: \$schema=\.\/(.+)$/.exec(first ?? "")?.[1];
  expect(file).toBeDefined();
  expect(second).toContain(`groupsync schema > ${file}`);
});
