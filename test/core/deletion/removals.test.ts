import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import {
  type Circumstances,
  describeHeldRemovals,
  type GuardResult,
  guardRemovals,
  isAllowed,
  type RemovalSummary,
  RemovalSummaryBuilder,
} from "../../../src/core/deletion/removals.ts";
import type { Intent } from "../../../src/core/group/ledger-group.ts";
import type { Removal } from "../../../src/core/plan/change.ts";
import type { PlannedAction } from "../../../src/core/record/decide.ts";
import { anyId } from "../../builders/arbitraries.ts";
import { aDelete, anApply, aRejectedTenant, aReplace } from "../../builders/groups.ts";

const SCOPE: ConstructorParameters<typeof RemovalSummaryBuilder>[0] = {
  name: "default",
  baseUrl: "https://a",
  approvals: 0,
};
const aMissing = (dueInMs: number | null): PlannedAction => ({
  kind: "missing",
  user_group_id: "acme",
  absence: "absent",
  dueInMs,
});

function countsOf(...actions: PlannedAction[]): Partial<RemovalSummary> {
  const builder = new RemovalSummaryBuilder(SCOPE);
  for (const action of actions) builder.add(action);
  const { code: _, ...counts } = builder.summary();
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
}

function codeOf(actions: readonly PlannedAction[], scope: typeof SCOPE = SCOPE): string {
  const builder = new RemovalSummaryBuilder(scope);
  for (const action of actions) builder.add(action);
  return builder.summary().code;
}

describe("a plan's removals are counted:", () => {
  test.each<[string, PlannedAction, Partial<RemovalSummary>]>([
    ["an update is none", anApply({ kind: "update" }), {}],
    ["a rejected row is none", aRejectedTenant(), {}],
    ["a replacement", aReplace(), { replacements: 1 }],
    ["a replacement under way", aReplace({ underWay: true }), {}],
    ["a deletion", aDelete(), { deletions: 1, gone: 1 }],
    ["a deletion under way", aDelete({ underWay: true }), { gone: 1 }],
    ["a deletion that the operator named", aDelete({ skipsGrace: true }), { gone: 1 }],
    [
      "a deletion of a tenant unseen in the new source",
      aDelete({ absence: "unseen" }),
      { deletions: 1, unseen: 1, gone: 1 },
    ],
    ["a missing tenant whose group is deleted later", aMissing(1), { gone: 1 }],
    ["a missing tenant whose group is kept", aMissing(null), { gone: 1, kept: 1 }],
  ])("%s", (_, action, counts) => {
    expect(countsOf(action)).toEqual(counts);
  });

  test.each<[Intent | null, number]>([
    [null, 0],
    ["apply", 0],
    ["rotate", 0],
    ["remove", 0],
    ["replace", 1],
    ["delete", 1],
  ])("an intent %s of an earlier run is %i under way", (intent, underWay) => {
    const builder = new RemovalSummaryBuilder(SCOPE);
    builder.see({ intent });
    expect(builder.summary()).toMatchObject({ underWay });
  });
});

test("the code covers the removals that are due, and no others", () => {
  const due = [aDelete({ user_group_id: "a" }), aReplace({ user_group_id: "b" })] as const;
  const others = [
    aDelete({ user_group_id: "c", underWay: true }),
    aDelete({ user_group_id: "d", skipsGrace: true }),
    aMissing(1),
  ];
  expect(codeOf([...due, ...others])).toBe(codeOf(due));
});

describe("the code that approves a set of removals", () => {
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

  it.each<[string, readonly Removal[], typeof SCOPE]>([
    ["another id", deletions("acme", "initech"), SCOPE],
    ["one more", deletions("acme", "globex", "initech"), SCOPE],
    ["one fewer", deletions("acme"), SCOPE],
    ["one id that reads like both", deletions("acmedeleteglobex"), SCOPE],
    [
      "a replacement in place of a deletion",
      [aReplace({ user_group_id: "acme" }), ...deletions("globex")],
      SCOPE,
    ],
    ["the same set under another name", set, { ...SCOPE, name: "staging" }],
    ["the same set after an approval", set, { ...SCOPE, approvals: 1 }],
    ["the same set in another service", set, { ...SCOPE, baseUrl: "https://staging.example.com" }],
    ["the same set in no service yet", set, { ...SCOPE, baseUrl: null }],
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

const CODE = "0123456789ab";

/** Nothing to remove, unless a test says so. */
const removals = (overrides: Partial<RemovalSummary> = {}): RemovalSummary => ({
  deletions: 0,
  replacements: 0,
  underWay: 0,
  unseen: 0,
  code: CODE,
  gone: overrides.deletions ?? 0,
  kept: 0,
  ...overrides,
});

/** Ten removals a day are allowed by the percentage, three by the count. */
const circumstances = (overrides: Partial<Circumstances> = {}): Circumstances => ({
  conclusive: true,
  owned: 100,
  recent: 0,
  limit: { count: 3, percent: 10 },
  ...overrides,
});

describe("removals are held", () => {
  it.each<[string, Partial<RemovalSummary>, Partial<Circumstances>, GuardResult["kind"]]>([
    ["not where there are none", {}, { recent: 1_000 }, "allowed"],
    ["not at the percentage", { deletions: 10 }, {}, "allowed"],
    ["above it", { deletions: 11 }, {}, "held"],
    ["not at the count, whatever the percentage", { deletions: 3 }, { owned: 4 }, "allowed"],
    ["above the count and the percentage of few", { deletions: 4 }, { owned: 4 }, "held"],
    ["not above the count alone", { deletions: 4 }, { owned: 40 }, "allowed"],
    ["where deletions and replacements are too many together", { deletions: 5, replacements: 6 }, {}, "held"],
    ["where replacements alone are too many", { replacements: 11 }, {}, "held"],
    ["where those of the last 24 hours leave too little room", { deletions: 1 }, { recent: 10 }, "held"],
    ["not where they leave enough", { deletions: 1 }, { recent: 9 }, "allowed"],
    ["where those under way leave too little room", { deletions: 1, underWay: 10 }, {}, "held"],
    ["not where there is nothing beside those under way", { underWay: 50 }, {}, "allowed"],
    ["where one is unseen, however few they are", { deletions: 1, unseen: 1 }, {}, "held"],
    ["by a limit of nothing, every one", { deletions: 1 }, { limit: { count: 0, percent: 0 } }, "held"],
    ["by a limit of everything, none", { deletions: 100 }, { limit: { count: 0, percent: 100 } }, "allowed"],
  ])("%s", (_, asked, given, kind) => {
    expect(guardRemovals(removals(asked), circumstances(given)).kind).toBe(kind);
  });

  it("with what led to it", () => {
    const [asked, given] = [removals({ deletions: 60 }), circumstances()];
    expect(guardRemovals(asked, given)).toEqual({ kind: "held", removals: asked, circumstances: given });
  });
});

describe("the operator's word", () => {
  const tooMany = removals({ deletions: 60 });

  it.each([
    ["approves what it was given for", CODE, { kind: "allowed", approved: true }],
    ["approves nothing else", "0123456789ac", { kind: "held" }],
    ["is taken literally", CODE.toUpperCase(), { kind: "held" }],
    ["is not half a word", CODE.slice(0, 6), { kind: "held" }],
    ["is not empty", "", { kind: "held" }],
    ["is not missing", undefined, { kind: "held" }],
  ])("%s", (_, approval, guard) => {
    expect(guardRemovals(tooMany, circumstances({ approval }))).toMatchObject(guard);
  });

  it("approves the unseen too", () => {
    const unseen = removals({ deletions: 1, unseen: 1 });
    expect(guardRemovals(unseen, circumstances({ approval: CODE }))).toEqual({
      kind: "allowed",
      approved: true,
    });
  });

  it("is not used up if it isn't needed", () => {
    const few = removals({ deletions: 1 });
    expect(guardRemovals(few, circumstances({ approval: CODE }))).toEqual({
      kind: "allowed",
      approved: false,
    });
  });

  it("doesn't make a bad read a good one", () => {
    const given = circumstances({ conclusive: false, approval: CODE });
    expect(guardRemovals(tooMany, given)).toEqual({ kind: "inconclusive", gone: 60, kept: 0 });
  });
});

describe("a read without one valid row", () => {
  const given = circumstances({ conclusive: false });

  it("is inconclusive if a tenant is gone, whether a deletion is due or not", () => {
    for (const some of [{ gone: 2 }, { underWay: 1, gone: 1 }]) {
      const { gone, kept } = removals(some);
      expect(guardRemovals(removals(some), given)).toEqual({ kind: "inconclusive", gone, kept });
    }
  });

  it("is inconclusive even if none of the groups would ever be deleted", () => {
    const inconclusive = { kind: "inconclusive", gone: 2, kept: 2 };
    expect(guardRemovals(removals({ gone: 2, kept: 2 }), given)).toEqual(inconclusive);
  });

  it("is as good as any where nobody is", () => {
    expect(guardRemovals(removals(), given)).toEqual({ kind: "allowed", approved: false });
  });
});

describe("a removal is done", () => {
  const clearances: Record<GuardResult["kind"], GuardResult> = {
    allowed: { kind: "allowed", approved: false },
    held: { kind: "held", removals: removals(), circumstances: circumstances() },
    inconclusive: { kind: "inconclusive", gone: 1, kept: 0 },
  };
  const done: Record<GuardResult["kind"], Record<"due" | "begun", boolean>> = {
    allowed: { due: true, begun: true },
    held: { due: false, begun: true },
    inconclusive: { due: false, begun: false },
  };
  it.each(Object.values(clearances))("or not, where the plan is $kind", (guard) => {
    const { due, begun } = done[guard.kind];
    for (const removal of [aDelete(), aReplace()]) {
      expect(isAllowed(removal, guard)).toBe(due);
      expect(isAllowed({ ...removal, underWay: true }, guard)).toBe(begun);
    }
    expect(isAllowed(aDelete({ skipsGrace: true }), guard)).toBe(begun);
  });
});

const holdOf = (held: Partial<RemovalSummary>, recent = 0) =>
  describeHeldRemovals({
    kind: "held",
    removals: removals(held),
    circumstances: circumstances({ recent }),
  });

describe("a hold is explained", () => {
  it.each<[string, Partial<RemovalSummary>, message: string, question: string]>([
    ["of deletions", { deletions: 20 }, "20 deletions are held", "are these tenants really gone?"],
    ["of replacements", { replacements: 20 }, "20 replacements are held", "a new token"],
    [
      "of both",
      { deletions: 1, replacements: 10 },
      "1 deletion and 10 replacements are held",
      "are these tenants really gone?",
    ],
    ["of another source", { deletions: 1, unseen: 1 }, "1 deletion is held", "put the old one back"],
  ])("%s, with the code", (_, held, message, question) => {
    const hold = holdOf(held);
    expect(hold).toMatchObject({ code: "DELETIONS_HELD", approval: CODE });
    expect(hold.message).toContain(message);
    expect(hold.hint).toContain(question);
    expect(hold.hint).toContain(`groupsync sync --approve-deletions ${CODE}`);
  });

  it("with what has gone already", () => {
    expect(holdOf({ deletions: 7, underWay: 1 }, 3).message).toBe(
      "7 deletions are held: deletion.limit lets 10 of 100 groups go in 24 hours, and 4 went already",
    );
  });

  it("of a read without a valid row, with all groups that it says nothing of", () => {
    expect(describeHeldRemovals({ kind: "inconclusive", gone: 3, kept: 2 })).toMatchObject({
      code: "SOURCE_INCONCLUSIVE",
      message: expect.stringContaining("so 3 groups without a tenant are kept"),
      hint: expect.stringContaining("check what the config's source section selects"),
      count: 1,
      approval: null,
    });
  });
});
