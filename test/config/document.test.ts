// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is what the config file has
import { describe, expect, it } from "vitest";
import { load, problemsOf, withKeys } from "./config-file.ts";

describe("a value", () => {
  it("may be a number or a boolean from the environment, and a key may not", () => {
    const yaml = withKeys({
      service: { concurrency: "${N}" },
      deletion: { limit: { percent: "${P:-2.5}" } },
      group: { properties: { "${N}": { column: "x", optional: "${YES}" } } },
    });
    const config = load(yaml, { N: "4", YES: "true" });
    expect(config.service.concurrency).toBe(4);
    expect(config.deletion.limit.percent).toBe(2.5);
    expect(config.group.properties).toEqual({
      kind: "keys",
      keys: { "${N}": { kind: "column", column: "x", optional: true } },
    });
  });

  it.each([
    ["10.0", 10],
    ["1e1", 10],
    ["+3", 3],
    ["010", 10],
    ["0x0A", 10],
    ["0o12", 10],
    ["2.50", 2.5],
    [".5", 0.5],
    ["-0", -0],
  ])("may be the number %s as YAML reads it", (written, value) => {
    const yaml = withKeys({ deletion: { limit: { percent: "here" } } }).replace('"here"', written);
    expect(load(yaml).deletion.limit.percent).toBe(value);
  });

  it("may have numbers as keys", () => {
    const yaml = withKeys({ group: { mapping: "here" } }).replace(
      '"here"',
      "{ 40: a, 041: b, constructor: c }",
    );
    const column = (name: string) => ({ kind: "column", column: name, optional: false });
    expect(load(yaml).group.mapping).toEqual({
      kind: "keys",
      keys: { "40": column("a"), "041": column("b"), constructor: column("c") },
    });
  });
});

describe("a file that is no config", () => {
  it.each([
    ["brackets without an end", "[".repeat(5_000), "line 1  "],
    ["a deep nest", `a: ${"[".repeat(2_000)}${"]".repeat(2_000)}`, "line 1  this is nested too deeply"],
    ["a deep list", `${"- ".repeat(5_000)}a`, "line 1  this is nested too deeply"],
    ["a deeper one", `a: ${"[".repeat(20_000)}${"]".repeat(20_000)}`, "line 1  this is nested too deeply"],
  ])("is refused at once: %s", (_, yaml, problem) => {
    const report = problemsOf(yaml);
    expect(report).toContain(problem);
    expect(report).toContain("config.yaml has 1 problem");
  });
});

describe("a document with problems", () => {
  it.each([
    ["text", "hello", "is not a section"],
    ["an alias", "name: *hunter2", "name: a tag (!…), an anchor (&…) and an alias (*…) mean nothing here"],
    ["an anchor", "name: &hunter2 x", "name: a tag (!…), an anchor (&…) and an alias (*…) mean nothing here"],
    ["a tag", "name: !hunter2 x", "name: a tag (!…), an anchor (&…) and an alias (*…) mean nothing here"],
    ["a merge of an alias", "<<: *hunter2", '"<<": a tag (!…), an anchor (&…) and an alias'],
    [
      "a forgotten space",
      "service: {api_key:hunter2}",
      'service."api_key:…": unknown key; is a space missing',
    ],
    ["a rounded number", "name: 12345678901234567890", "name: as a number this would not keep the form"],
    ["a number in text's place", "name: 010", "name: is not a name"],
    ["no number", "deletion:\n  limit: { percent: .inf }", "deletion.limit.percent: is not a number from"],
    [
      "a number in a group that would become another text",
      "group:\n  mapping: { 40: { value: 1.0 } }",
      "group.mapping.40.value: as a number this would not keep the form",
    ],
  ])("names %s", (_, yaml, problem) => {
    expect(problemsOf(yaml)).toContain(`  line ${yaml.split("\n").length}  ${problem}`);
    expect(problemsOf(yaml)).not.toContain("hunter2");
  });
});

describe("text that is not YAML", () => {
  it("is reported line by line, and no further problems are guessed", () => {
    const yaml =
      "service:\n\ttimeout: 1\n\tupdate: @2\nsource: { url: ${DATABASE_URL} }\nschedule: x\n---\nname: x\n";
    expect(problemsOf(yaml)).toBe(`config.yaml has 4 problems:
  line 2  a tab is used as indentation; use spaces
  line 3  a tab is used as indentation; use spaces
  line 4  this is not YAML; put a value with braces in it in quotes: "\${NAME}", "{{ column }}"
  line 6  a second document starts here; a config is one document: remove the line ---`);
  });
});
