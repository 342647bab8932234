import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Circumstances,
  type GuardResult,
  guardRemovals,
  isAllowed,
  type RemovalSummary,
} from "../../../src/core/deletion/removals.ts";

const CODE = "0123456789ab";

/** Nothing to remove, unless a test says so. */
const removals = (overrides: Partial<RemovalSummary> = {}): RemovalSummary => ({
  deletions: 0,
  replacements: 0,
  underWay: 0,
  estranged: 0,
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
    ["where one is estranged, however few they are", { deletions: 1, estranged: 1 }, {}, "held"],
    ["by a limit of nothing, every one", { deletions: 1 }, { limit: { count: 0, percent: 0 } }, "held"],
    ["by a limit of everything, none", { deletions: 100 }, { limit: { count: 0, percent: 100 } }, "allowed"],
  ])("%s", (_, asked, given, kind) => {
    expect(guardRemovals(removals(asked), circumstances(given)).kind).toBe(kind);
  });

  it("with what led to it", () => {
    const [asked, given] = [removals({ deletions: 60 }), circumstances()];
    expect(guardRemovals(asked, given)).toEqual({ kind: "held", removals: asked, circumstances: given });
  });

  it("never where fewer would not be, all else being the same", () => {
    const some = fc.nat({ max: 20 });
    fc.assert(
      fc.property(
        some,
        some,
        some,
        some,
        some,
        some,
        (deletions, replacements, underWay, recent, count, percent) => {
          const given = circumstances({ recent, limit: { count, percent } });
          const kindOf = (asked: Partial<RemovalSummary>): GuardResult["kind"] =>
            guardRemovals(removals({ deletions, replacements, underWay, ...asked }), given).kind;
          if (kindOf({}) === "held") expect(kindOf({ deletions: deletions + 1 })).toBe("held");
          if (kindOf({}) === "held") expect(kindOf({ underWay: underWay + 1 })).toBe("held");
        },
      ),
    );
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

  it("approves the estranged too", () => {
    const estranged = removals({ deletions: 1, estranged: 1 });
    expect(guardRemovals(estranged, circumstances({ approval: CODE }))).toEqual({
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
    expect(isAllowed({ underWay: false }, guard)).toBe(due);
    expect(isAllowed({ underWay: true }, guard)).toBe(begun);
  });
});
