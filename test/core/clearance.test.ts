import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Circumstances,
  type Clearance,
  clearanceOf,
  isCleared,
  type RemovalSummary,
} from "../../src/core/clearance.ts";

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
  it.each<[string, Partial<RemovalSummary>, Partial<Circumstances>, Clearance["kind"]]>([
    ["not where there are none", {}, { recent: 1_000 }, "cleared"],
    ["not at the percentage", { deletions: 10 }, {}, "cleared"],
    ["above it", { deletions: 11 }, {}, "held"],
    ["not at the count, whatever the percentage", { deletions: 3 }, { owned: 4 }, "cleared"],
    ["above the count and the percentage of few", { deletions: 4 }, { owned: 4 }, "held"],
    ["not above the count alone", { deletions: 4 }, { owned: 40 }, "cleared"],
    ["where deletions and replacements are too many together", { deletions: 5, replacements: 6 }, {}, "held"],
    ["where replacements alone are too many", { replacements: 11 }, {}, "held"],
    ["where those of the last 24 hours leave too little room", { deletions: 1 }, { recent: 10 }, "held"],
    ["not where they leave enough", { deletions: 1 }, { recent: 9 }, "cleared"],
    ["where those under way leave too little room", { deletions: 1, underWay: 10 }, {}, "held"],
    ["not where there is nothing beside those under way", { underWay: 50 }, {}, "cleared"],
    ["where one is estranged, however few they are", { deletions: 1, estranged: 1 }, {}, "held"],
    ["by a limit of nothing, every one", { deletions: 1 }, { limit: { count: 0, percent: 0 } }, "held"],
    ["by a limit of everything, none", { deletions: 100 }, { limit: { count: 0, percent: 100 } }, "cleared"],
  ])("%s", (_, asked, given, kind) => {
    expect(clearanceOf(removals(asked), circumstances(given)).kind).toBe(kind);
  });

  it("with what led to it", () => {
    const [asked, given] = [removals({ deletions: 60 }), circumstances()];
    expect(clearanceOf(asked, given)).toEqual({ kind: "held", removals: asked, circumstances: given });
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
          const kindOf = (asked: Partial<RemovalSummary>): Clearance["kind"] =>
            clearanceOf(removals({ deletions, replacements, underWay, ...asked }), given).kind;
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
    ["approves what it was given for", CODE, { kind: "cleared", approved: true }],
    ["approves nothing else", "0123456789ac", { kind: "held" }],
    ["is taken literally", CODE.toUpperCase(), { kind: "held" }],
    ["is not half a word", CODE.slice(0, 6), { kind: "held" }],
    ["is not empty", "", { kind: "held" }],
    ["is not missing", undefined, { kind: "held" }],
  ])("%s", (_, approval, clearance) => {
    expect(clearanceOf(tooMany, circumstances({ approval }))).toMatchObject(clearance);
  });

  it("approves the estranged too", () => {
    const estranged = removals({ deletions: 1, estranged: 1 });
    expect(clearanceOf(estranged, circumstances({ approval: CODE }))).toEqual({
      kind: "cleared",
      approved: true,
    });
  });

  it("is not used up where it isn't needed", () => {
    const few = removals({ deletions: 1 });
    expect(clearanceOf(few, circumstances({ approval: CODE }))).toEqual({ kind: "cleared", approved: false });
  });

  it("doesn't make a bad read a good one", () => {
    const given = circumstances({ conclusive: false, approval: CODE });
    expect(clearanceOf(tooMany, given)).toEqual({ kind: "inconclusive", gone: 60, kept: 0 });
  });
});

describe("a read without one valid row", () => {
  const given = circumstances({ conclusive: false });

  it("is inconclusive where somebody is gone, due or not", () => {
    for (const some of [{ gone: 2 }, { underWay: 1, gone: 1 }]) {
      const { gone, kept } = removals(some);
      expect(clearanceOf(removals(some), given)).toEqual({ kind: "inconclusive", gone, kept });
    }
  });

  it("is so too where none of them would ever be deleted", () => {
    const inconclusive = { kind: "inconclusive", gone: 2, kept: 2 };
    expect(clearanceOf(removals({ gone: 2, kept: 2 }), given)).toEqual(inconclusive);
  });

  it("is as good as any where nobody is", () => {
    expect(clearanceOf(removals(), given)).toEqual({ kind: "cleared", approved: false });
  });
});

describe("a removal is done", () => {
  const clearances: Record<Clearance["kind"], Clearance> = {
    cleared: { kind: "cleared", approved: false },
    held: { kind: "held", removals: removals(), circumstances: circumstances() },
    inconclusive: { kind: "inconclusive", gone: 1, kept: 0 },
  };
  const done: Record<Clearance["kind"], Record<"due" | "begun", boolean>> = {
    cleared: { due: true, begun: true },
    held: { due: false, begun: true },
    inconclusive: { due: false, begun: false },
  };
  it.each(Object.values(clearances))("or not, where the plan is $kind", (clearance) => {
    const { due, begun } = done[clearance.kind];
    expect(isCleared({ underWay: false }, clearance)).toBe(due);
    expect(isCleared({ underWay: true }, clearance)).toBe(begun);
  });
});
