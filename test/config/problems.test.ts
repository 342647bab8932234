// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is what the config file has
import { describe, expect, it } from "vitest";
import { problemsOf, withKeys } from "./config-file.ts";

describe("a report", () => {
  const many = (count: number, line: (n: number) => string): string =>
    Array.from({ length: count }, (_, n) => line(n)).join("\n");

  it("shows the first hundred problems and the number of the others", () => {
    const problems = problemsOf(many(10_000, (n) => `k${n}: 1`)).split("\n");
    expect(problems).toHaveLength(102);
    expect(problems[0]).toMatch(/^config\.yaml has 100\d\d problems:$/);
    expect(problems[101]).toMatch(/^ {2}… and 99\d\d more$/);
  });
});

describe("what the schema finds wrong", () => {
  it("never shows a value, because any value may be a secret", () => {
    const env = { KEY: "two hunter2", URL: "hunter2" };
    const named = problemsOf(withKeys({ service: { api_key: "${KEY}" }, source: { url: "${URL}" } }), env);
    const held = problemsOf(
      withKeys({ service: { api_key: "two hunter2" }, source: { url: "${NO:-hunter2}" } }),
    );
    for (const problems of [named, held]) {
      expect(problems).toContain("service.api_key: is not an API key");
      expect(problems).toContain("source.url: is not the url of a database");
    }
    const elsewhere = problemsOf(withKeys({ source: { table: "postgres://a:hunter2@b/c" } }));
    expect(elsewhere).toContain("source.table: is not the name");
    expect(named + held + elsewhere).not.toContain("hunter2");
  });

  it("is that a key is empty, if it has nothing behind it", () => {
    expect(problemsOf(withKeys({ timezone: null }))).toContain(
      "1 problem:\n  line 1  timezone: is empty; write it like UTC or Europe/Berlin",
    );
  });
});
