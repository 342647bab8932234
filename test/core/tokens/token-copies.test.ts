import { describe, expect, test } from "vitest";
import { tokenFingerprint } from "../../../src/core/group/group.ts";
import { Secret } from "../../../src/core/secret/secret.ts";
import { laggingIn } from "../../../src/core/tokens/token-copies.ts";

const LIVE = new Secret("live");
const EXPECTED = new Map([["a", tokenFingerprint(LIVE)]]);
const holding = (token: string | null): ReadonlyMap<string, Secret> =>
  new Map(token === null ? [] : [["a", new Secret(token)]]);

describe("a group lags", () => {
  test.each<[string, (string | null)[], [token: string | null, isContradicted: boolean] | undefined]>([
    ["not where all stores have its token", ["live", "live"], undefined],
    ["not where the only one has it", ["live"], undefined],
    ["where one lacks it: another has it", [null, "live"], ["live", false]],
    ["where one has another one, and nobody knows which is live", ["live", "other"], ["live", true]],
    ["where one has another one and one has none", ["other", null], [null, true]],
    ["where none has it", [null, null], [null, false]],
    ["where all have other ones", ["dead", "other"], [null, true]],
    ["where the only one lacks it", [null], [null, false]],
    ["where the only one has another one", ["other"], [null, true]],
  ])("%s", (_, copies, expected) => {
    const found = laggingIn(EXPECTED, copies.map(holding)).get("a");
    expect(found && [found.token?.reveal() ?? null, found.isContradicted]).toEqual(expected);
  });

  test("not where nobody has heard of it", () => {
    expect(laggingIn(new Map(), [holding("live")])).toEqual(new Map());
  });
});
