import { expect, test } from "vitest";
import { findDrift } from "../../../src/core/drift/drift.ts";

const known = { tokenFingerprint: "t", intent: null, doubt: null };
const same = { isNew: false, mayHaveBeenSent: false, tokenFingerprint: "t", hasName: true };
const another = { isNew: false, mayHaveBeenSent: false, tokenFingerprint: "u", hasName: false };

test.each([
  ["nothing, if the group is as it was", known, same, true, []],
  ["that the group was gone", known, { ...another, isNew: true }, true, ["gone"]],
  ["another token", known, { ...another, hasName: true }, true, ["token"]],
  [
    "that the group was gone, if a lost answer may have made it",
    known,
    { ...another, mayHaveBeenSent: true },
    true,
    ["gone"],
  ],
  ["another name", known, { ...another, tokenFingerprint: "t" }, true, ["name"]],
  ["another token and another name", known, another, true, ["token", "name"]],
  [
    "no other token, if the ledger went back in time",
    { ...known, doubt: "rewind" as const },
    { ...another, hasName: true },
    true,
    [],
  ],
  ["no other name, if another state was sent", known, { ...same, hasName: false }, false, []],
  [
    "drift, if an earlier GET has got no answer",
    { ...known, intent: "apply" as const },
    another,
    true,
    ["token", "name"],
  ],
  ["nothing of an unknown group", null, another, true, []],
  ["nothing of a group whose token nobody knew", { ...known, tokenFingerprint: null }, another, true, []],
  ["nothing after a rotation of groupsync's own", { ...known, intent: "rotate" as const }, another, true, []],
  [
    "nothing after a removal of groupsync's own",
    { ...known, intent: "replace" as const },
    { ...another, isNew: true },
    true,
    [],
  ],
])("an answer shows %s", (_, before, answer, sentAsConfirmed, drift) => {
  expect(findDrift(before, answer, sentAsConfirmed)).toEqual(drift);
});
