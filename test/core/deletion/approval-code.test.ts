import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ApprovalCode, type ApprovalScope } from "../../../src/core/deletion/removals.ts";
import type { Removal } from "../../../src/core/plan/change.ts";
import { anyId } from "../../builders/arbitraries.ts";
import { aDelete, aReplace } from "../../builders/groups.ts";

describe("the code that approves a set of removals", () => {
  const scope: ApprovalScope = { name: "default", baseUrl: "https://dashboards.example.com", approvals: 0 };
  const codeOf = (held: readonly Removal[], given: ApprovalScope = scope): string => {
    const code = new ApprovalCode(given);
    for (const removal of held) code.add(removal);
    return code.get();
  };
  const deletions = (...ids: readonly string[]): Removal[] =>
    ids.map((user_group_id) => aDelete({ user_group_id }));

  const set = deletions("acme", "globex");

  it("is short enough to be typed, and the same whenever it is asked for", () => {
    expect(codeOf(set)).toMatch(/^[0-9a-f]{20}$/);
    expect(codeOf(deletions("acme", "globex"))).toBe(codeOf(set));
  });

  it("depends on nothing but what is removed, how, and what comes in its place", () => {
    const later = set.map((removal) => ({ ...removal, failedBefore: !removal.failedBefore }));
    expect(codeOf(later)).toBe(codeOf(set));
  });

  it.each<[string, readonly Removal[], ApprovalScope]>([
    ["another id", deletions("acme", "initech"), scope],
    ["one more", deletions("acme", "globex", "initech"), scope],
    ["one fewer", deletions("acme"), scope],
    ["one id that reads like both", deletions("acmedeleteglobex"), scope],
    [
      "a replacement in place of a deletion",
      [aReplace({ user_group_id: "acme" }), ...deletions("globex")],
      scope,
    ],
    ["the same set under another name", set, { ...scope, name: "staging" }],
    ["the same set after an approval", set, { ...scope, approvals: 1 }],
    ["the same set in another service", set, { ...scope, baseUrl: "https://staging.example.com" }],
    ["the same set in no service yet", set, { ...scope, baseUrl: null }],
  ])("is another for %s", (_, other, given) => {
    expect(codeOf(other, given)).not.toBe(codeOf(set));
  });

  it("is another for a replacement that sends something else", () => {
    const replacing = (fingerprint: string) => codeOf([aReplace({ fingerprint })]);
    expect(replacing("one")).not.toBe(replacing("another"));
  });

  it("is another for every other set", () => {
    const anyRemoval = fc
      .record({
        kind: fc.constantFrom("delete", "replace"),
        user_group_id: fc.oneof(anyId(), fc.constantFrom("delete", "replace", "deletereplace")),
      })
      .map(
        ({ kind, user_group_id }): Removal =>
          kind === "delete" ? aDelete({ user_group_id }) : aReplace({ user_group_id }),
      );
    const anySet = fc.uniqueArray(anyRemoval, { selector: (removal) => removal.user_group_id, maxLength: 5 });
    fc.assert(
      fc.property(anySet, anySet, (one, other) => {
        const same = JSON.stringify(one) === JSON.stringify(other);
        expect(codeOf(one) === codeOf(other)).toBe(same);
      }),
    );
  });
});
