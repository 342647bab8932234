import { describe, expect, it } from "vitest";
import { problemsOf, withKeys } from "./config-file.ts";

describe("a section", () => {
  it.each<[string, object, string]>([
    [
      "an unknown key that resembles no other",
      { nonsense: 1 },
      "nonsense: unknown key; the keys here are name, service, ",
    ],
    [
      "text in place of its keys",
      { rotation: "90d" },
      "rotation: is not a section; put its keys below it, each with a space after its colon: max_age, window,",
    ],
  ])("refuses %s", (_, keys, problem) => {
    expect(problemsOf(withKeys(keys))).toContain(`1 problem:\n  line 1  ${problem}`);
  });
});
