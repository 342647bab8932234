import fc from "fast-check";
import { expect, it } from "vitest";
import { changedFields } from "../../../src/core/group/group.ts";
import { canonicalJson } from "../../../src/core/text/json.ts";
import { anyGroup } from "../../builders/arbitraries.ts";
import { aGroup } from "../../builders/groups.ts";

it("names what differs, in the order of the fields, with what it was and what it will be", () => {
  const before = aGroup({
    mapping: { "40": "a", "134": "x" },
    properties: { gone: null, list: [1], same: 1 },
  });
  const after = aGroup({
    name: "New",
    mapping: { "40": "b", "134": "x" },
    properties: { list: [2], same: 1, added: 0 },
  });
  expect(changedFields(before, after)).toEqual([
    { field: "mapping.40", from: "a", to: "b" },
    { field: "name", from: "Acme", to: "New" },
    { field: "properties.added", to: 0 },
    { field: "properties.gone", from: null },
    { field: "properties.list", from: [1], to: [2] },
  ]);
});

it("doesn't take another order of keys for a difference", () => {
  const before = aGroup({ properties: { nested: { a: 1, b: 2 } } });
  expect(changedFields(before, aGroup({ properties: { nested: { b: 2, a: 1 } } }))).toEqual([]);
});

it("finds exactly the fields that differ", () => {
  fc.assert(
    fc.property(anyGroup(), anyGroup(), (before, other) => {
      const after = { ...other, user_group_id: before.user_group_id };
      const same = canonicalJson({ ...before }) === canonicalJson({ ...after });
      expect(changedFields(before, after).length === 0).toBe(same);
      expect(changedFields(before, before)).toEqual([]);
    }),
  );
});
