import { expect, test } from "vitest";
import {
  type FoundTokenTable,
  leadsElsewhere,
  type TokenTable,
} from "../../../src/core/tokens/destination.ts";

const BEFORE: TokenTable = { written: "tokens", schema: "public", table: "tokens", owner: "groupsync" };

test.each<[string, Partial<FoundTokenTable>, boolean]>([
  ["the same table", {}, false],
  ["one of another schema", { schema: "groupsync" }, true],
  ["one of another owner", { owner: "mallory" }, true],
  ["one of another owner that the config names", { owner: "app", isOwnerNamed: true }, false],
  ["one that is not there yet", { owner: null }, false],
  ["one that is not there yet, in another schema", { schema: "groupsync", owner: null }, true],
])("%s", (_, now, isElsewhere) => {
  expect(leadsElsewhere(BEFORE, { ...BEFORE, isOwnerNamed: false, ...now })).toBe(isElsewhere);
});
