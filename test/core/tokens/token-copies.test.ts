import { describe, expect, test } from "vitest";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import { tokenFingerprint } from "../../../src/core/group/group.ts";
import { Secret } from "../../../src/core/secret/secret.ts";
import { laggingIn, refusalIn } from "../../../src/core/tokens/token-copies.ts";

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

const refused = new SyncError("TOKEN_NOT_STORED", "full");
const another = new SyncError("TOKEN_NOT_STORED", "locked");
const somewhere = new SyncError("TOKEN_NOT_EVERYWHERE", "one store has the token, and another not: full");

test.each<[string, (SyncError | undefined)[], SyncError | undefined]>([
  ["nobody asked", [], undefined],
  ["all took it", [undefined, undefined], undefined],
  ["the only store refused it", [refused], refused],
  ["all refused it", [refused, another], refused],
  ["one took it", [refused, undefined], somewhere],
  ["several together have it in part, and others took it", [undefined, somewhere], somewhere],
  ["several together have it in part, and another refused it", [refused, somewhere], somewhere],
])("why a token is not in every store: %s", (_, answers, expected) => {
  const found = refusalIn(answers);
  expect([found?.code, found?.message]).toEqual([expected?.code, expected?.message]);
});
