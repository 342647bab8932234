import { describe, expect, test } from "vitest";
import { tokenFingerprint } from "../../../src/core/group/group.ts";
import { Secret } from "../../../src/core/secret/secret.ts";
import { laggingIn } from "../../../src/core/tokens/token-copies.ts";

const LIVE = new Secret("live");
const EXPECTED = new Map([["a", tokenFingerprint(LIVE)]]);
const holding = (token: string | null): ReadonlyMap<string, Secret> =>
  new Map(token === null ? [] : [["a", new Secret(token)]]);

describe("a group lags", () => {
  test.each<[string, (string | null)[], string | null | undefined]>([
    ["not where all stores have its token", ["live", "live"], undefined],
    ["not where the only one has it", ["live"], undefined],
    ["where one lacks it: another has it", [null, "live"], "live"],
    ["where one has a wrong one: another has the right one", ["live", "dead"], "live"],
    ["where none has it", [null, null], null],
    ["where all have wrong ones", ["dead", "other"], null],
    ["where the only one lacks it", [null], null],
  ])("%s", (_, copies, expected) => {
    const lagging = laggingIn(EXPECTED, copies.map(holding));
    expect(lagging.has("a")).toBe(expected !== undefined);
    expect(lagging.get("a")?.reveal()).toBe(expected ?? undefined);
  });

  test("not where nobody has heard of it", () => {
    expect(laggingIn(new Map(), [holding("live")])).toEqual(new Map());
  });
});
