// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is what the config file has
import { describe, expect, it } from "vitest";
import { load, problemsOf, withKeys } from "./config-file.ts";

describe("a value that is right", () => {
  it("is a query without its semicolon, which would break a subquery", () => {
    const { source } = load(withKeys({ source: { table: undefined, query: "SELECT 1; \n" } }));
    expect(source).toMatchObject({ url: source.url, query: "SELECT 1" });
  });

  it.each([
    ["0s", '"0s"'],
    ["0", '"0"'],
    ["a bare 0", "0"],
  ])("is a grace period of zero: %s", (_, written) => {
    const yaml = withKeys({ deletion: { grace_period: "?" } }).replace('"?"', written);
    expect(load(yaml).deletion.gracePeriodMs).toBe(0);
  });
});

describe("a value that is wrong", () => {
  it.each(["0 0 30 2 *", "0 0 31W 2 *"])("is a schedule without any scheduled time: %s", (schedule) => {
    expect(problemsOf(withKeys({ schedule }))).toBe(`config.yaml has 1 problem:
  line 1  schedule: names a day that never comes`);
  });

  it.each<[string, object, string]>([
    ["a query of nothing", { source: { table: undefined, query: " ;" } }, "source.query: is not a query"],
    ["a timeout of a day", { service: { timeout: "1d" } }, "service.timeout: is not a duration up to 1h"],
    ["a rotation all the time", { rotation: { max_age: "0s" } }, "rotation.max_age: is not a duration above"],
    ["a jitter that is too long", { jitter: "2h" }, "jitter: is not a duration up to 1h"],
    ["no time to end in", { shutdown_timeout: "0s" }, "shutdown_timeout: is not a duration up to 1h"],
    ["a history of nothing", { history: "5m" }, "history: is not a duration of 1h or more"],
    ["a port that is none", { http: { listen: "127.0.0.1:99999" } }, "http.listen: is not"],
    [
      "a webhook that is none, without showing it",
      { notify: { webhook: "hooks.example.com/hunter2" } },
      "notify.webhook: is not the address of a web page",
    ],
  ])("names %s", (_, keys, problem) => {
    expect(problemsOf(withKeys(keys))).toContain(`1 problem:\n  line 1  ${problem}`);
  });
});

describe("a scalar", () => {
  it.each(["10.0", "1e1", "+10", "010"])("may be the number %s from the environment", (N) => {
    const limit = { count: "${N}", percent: "${N}" };
    expect(load(withKeys({ deletion: { limit } }), { N }).deletion.limit).toEqual({ count: 10, percent: 10 });
  });

  it("is refused if it is neither true nor false", () => {
    expect(problemsOf(withKeys({ run_at_start: "maybe" }))).toContain(
      "1 problem:\n  line 1  run_at_start: is not true or false",
    );
  });
});
