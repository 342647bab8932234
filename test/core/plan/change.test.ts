import { describe, expect, test } from "vitest";
import type { Intent } from "../../../src/core/group/ledger-group.ts";
import {
  type Change,
  DELETED,
  fingerprintOf,
  intentOf,
  isForToken,
  isRemoval,
} from "../../../src/core/plan/change.ts";
import { aDelete, anApply, aReplace } from "../../builders/groups.ts";

type Kind = Change["kind"];
const CREATE = anApply({ kind: "create", fingerprint: "f" });
const UPDATE = anApply({ kind: "update", fingerprint: "f" });
const REPLACE = aReplace({ fingerprint: "f" });
const DELETE = aDelete();
const OF: Readonly<Record<Kind, Change>> = {
  create: CREATE,
  update: UPDATE,
  replace: REPLACE,
  delete: DELETE,
};

test.each<[Kind, fingerprint: string, removal: boolean]>([
  ["create", "f", false],
  ["update", "f", false],
  ["replace", "replaced f", true],
  ["delete", DELETED, true],
])(
  "the fingerprint of a change of kind %s is %s, and whether it is a removal: %s",
  (kind, fingerprint, removal) => {
    const change = OF[kind];
    expect(fingerprintOf(change)).toBe(fingerprint);
    expect(isRemoval(change)).toBe(removal);
  },
);

describe("the intent of", () => {
  test.each<[Kind, standing: Intent | null, Intent]>([
    ["create", null, "apply"],
    ["update", null, "apply"],
    ["update", "apply", "apply"],
    ["update", "rotate", "apply"],
    ["update", "remove", "apply"],
    ["update", "delete", "replace"],
    ["update", "replace", "replace"],
    ["replace", null, "replace"],
    ["delete", null, "delete"],
    ["delete", "replace", "delete"],
  ])("%s after an intent %s is %s", (kind, standing, intent) => {
    expect(intentOf(OF[kind], standing)).toBe(intent);
  });
});

test("only a GET for a group that is already as desired is for its token alone", () => {
  expect([CREATE, UPDATE, REPLACE, DELETE].filter(isForToken)).toEqual([]);
  expect(isForToken({ ...UPDATE, restores: true })).toBe(true);
});
