import { describe, expect, it } from "vitest";
import { describeHeldRemovals, type RemovalSummary } from "../../../src/core/deletion/removals.ts";

const CODE = "0123456789ab";

const holdOf = (removals: Partial<RemovalSummary>, recent = 0) =>
  describeHeldRemovals({
    kind: "held",
    removals: {
      deletions: 0,
      replacements: 0,
      underWay: 0,
      estranged: 0,
      code: CODE,
      gone: 0,
      kept: 0,
      ...removals,
    },
    circumstances: { conclusive: true, owned: 100, recent, limit: { count: 3, percent: 10 } },
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
    ["of another source", { deletions: 1, estranged: 1 }, "1 deletion is held", "put the old one back"],
  ])("%s, with the code", (_, removals, message, question) => {
    const hold = holdOf(removals);
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
      count: 1,
      approval: null,
    });
  });
});
