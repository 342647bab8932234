import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { changedFields, type Group, tokenFingerprint } from "../../../src/core/group/group.ts";
import { Secret } from "../../../src/core/secret/secret.ts";
import { canonicalJson } from "../../../src/core/text/json.ts";
import { anyGroup, anyJson, anyText, reordered } from "../../builders/arbitraries.ts";
import { aGroup, fingerprintOfGroup } from "../../builders/groups.ts";

describe("a group's fingerprint", () => {
  it("doesn't depend on the order of keys", () => {
    fc.assert(
      fc.property(anyGroup(), (group) => {
        const { properties, mapping, name, user_group_id } = group;
        const other: Group = {
          properties: reordered(properties),
          mapping: reordered(mapping),
          name,
          user_group_id,
        };
        expect(fingerprintOfGroup(other)).toBe(fingerprintOfGroup(group));
      }),
    );
  });

  it("changes with any value, at any depth", () => {
    fc.assert(
      fc.property(anyGroup(), anyText(), anyJson(), (group, text, json) => {
        const changed: Group[] = [
          { ...group, user_group_id: text },
          { ...group, name: text },
          ...Object.keys(group.mapping).map((key) => ({
            ...group,
            mapping: { ...group.mapping, [key]: text },
          })),
          ...Object.keys(group.properties).map((key) => ({
            ...group,
            properties: { ...group.properties, [key]: json },
          })),
          { ...group, properties: { ...group.properties, nested: { deeper: [json] } } },
        ];
        for (const other of changed) {
          const same = canonicalJson({ ...other }) === canonicalJson({ ...group });
          expect(fingerprintOfGroup(other) === fingerprintOfGroup(group)).toBe(same);
        }
      }),
    );
  });

  it("tells values that only look alike apart", () => {
    const lookalikes = [1, "1", [1], ["1"], { "0": 1 }, true, "true", null, "null", "", [], {}];
    const prints = lookalikes.map((value) => fingerprintOfGroup(aGroup({ properties: { value } })));
    expect(new Set(prints).size).toBe(lookalikes.length);
    expect(fingerprintOfGroup(aGroup({ properties: {} }))).not.toBe(
      fingerprintOfGroup(aGroup({ properties: { value: null } })),
    );
  });
});

it("a token's fingerprint is the SHA-256 of its bytes", () => {
  expect(tokenFingerprint(new Secret("abc"))).toBe("ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0");
});

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
