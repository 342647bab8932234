// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is what the config file has
import { describe, expect, it } from "vitest";
import { problemsOf, withKeys } from "./config-file.ts";

describe("what the schema finds wrong", () => {
  it("shows a secret as the file names it, and never the secret itself", () => {
    const env = { KEY: "two hunter2", URL: "hunter2" };
    const named = problemsOf(withKeys({ service: { api_key: "${KEY}" }, source: { url: "${URL}" } }), env);
    expect(named).toContain('service.api_key: "${KEY}" is not an API key');
    expect(named).toContain('source.url: "${URL}" is not the url of a database');
    const held = problemsOf(
      withKeys({ service: { api_key: "two hunter2" }, source: { url: "${NO:-hunter2}" } }),
    );
    expect(held).toContain("service.api_key: the value is not an API key");
    expect(named + held).not.toContain("hunter2");
  });

  it.each<[string, object, string]>([
    ["an empty value", { timezone: null }, "timezone: an empty value is not a time zone"],
    [
      "a url in the wrong key, without its text",
      { source: { table: "postgres://a:hunter2@b/c" } },
      "source.table: the value is not the name",
    ],
  ])("names %s", (_, keys, problem) => {
    expect(problemsOf(withKeys(keys))).toContain(`1 problem:\n  line 1  ${problem}`);
  });
});
