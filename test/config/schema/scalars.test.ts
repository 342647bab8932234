// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is what the config file has
import { describe, expect, it } from "vitest";
import { load, problemsOf, withKeys } from "../config-file.ts";

describe("a scalar", () => {
  it.each(["10.0", "1e1", "+10", "010"])("may be the number %s from the environment", (N) => {
    const limit = { count: "${N}", percent: "${N}" };
    expect(load(withKeys({ deletion: { limit } }), { N }).deletion.limit).toEqual({ count: 10, percent: 10 });
  });

  it("is refused if it is neither true nor false", () => {
    expect(problemsOf(withKeys({ run_at_start: "maybe" }))).toContain(
      '1 problem:\n  line 1  run_at_start: "maybe" is not true or false',
    );
  });
});
