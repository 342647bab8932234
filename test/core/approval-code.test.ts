import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ApprovalCode, type ApprovalScope } from "../../src/core/approval-code.ts";
import type { Held } from "../../src/core/clearance.ts";
import { anyId } from "../builders/arbitraries.ts";

describe("the code that approves a set of removals", () => {
  const scope: ApprovalScope = { baseUrl: "https://dashboards.example.com", approvals: 0 };
  const codeOf = (held: readonly Held[], given: ApprovalScope = scope): string => {
    const code = new ApprovalCode(given);
    for (const removal of held) code.add(removal);
    return code.get();
  };
  const deletions = (...ids: readonly string[]): Held[] =>
    ids.map((user_group_id) => ({ kind: "delete", user_group_id }));

  const set = deletions("acme", "globex");

  it("is short enough to be typed, and the same whenever it is asked for", () => {
    expect(codeOf(set)).toMatch(/^[0-9a-f]{12}$/);
    expect(codeOf(deletions("acme", "globex"))).toBe(codeOf(set));
  });

  it("depends on nothing but what is removed, and how", () => {
    const [first, second] = set as [Held, Held];
    const withMore = [{ ...first, absence: "absent", underWay: false, name: "Acme" }, second];
    expect(codeOf(withMore)).toBe(codeOf(set));
  });

  it.each<[string, readonly Held[], ApprovalScope]>([
    ["another id", deletions("acme", "initech"), scope],
    ["one more", deletions("acme", "globex", "initech"), scope],
    ["one fewer", deletions("acme"), scope],
    ["one id that reads like both", deletions("acmedeleteglobex"), scope],
    [
      "a replacement in place of a deletion",
      [{ kind: "replace", user_group_id: "acme" }, ...deletions("globex")],
      scope,
    ],
    ["the same set after an approval", set, { ...scope, approvals: 1 }],
    ["the same set in another service", set, { ...scope, baseUrl: "https://staging.example.com" }],
    ["the same set in no service yet", set, { ...scope, baseUrl: null }],
  ])("is another for %s", (_, other, given) => {
    expect(codeOf(other, given)).not.toBe(codeOf(set));
  });

  it("is another for every other set", () => {
    const anyRemoval = fc.record({
      kind: fc.constantFrom<Held["kind"]>("delete", "replace"),
      user_group_id: fc.oneof(anyId(), fc.constantFrom("delete", "replace", "deletereplace")),
    });
    const anySet = fc.uniqueArray(anyRemoval, { selector: (removal) => removal.user_group_id, maxLength: 5 });
    fc.assert(
      fc.property(anySet, anySet, (one, other) => {
        const same = JSON.stringify(one) === JSON.stringify(other);
        expect(codeOf(one) === codeOf(other)).toBe(same);
      }),
    );
  });
});
