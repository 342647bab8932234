import { describe, expect, test } from "vitest";
import {
  ApprovalCode,
  type RemovalSummary,
  RemovalSummaryBuilder,
} from "../../../src/core/deletion/removals.ts";
import type { Intent } from "../../../src/core/group/ledger-group.ts";
import type { PlannedAction } from "../../../src/core/plan/planned-action.ts";
import { aDelete, anApply, aRejectedTenant, aReplace } from "../../builders/groups.ts";

const SCOPE = { name: "default", baseUrl: "https://a", approvals: 0 };
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

describe("a plan's removals are counted:", () => {
  test.each<[string, PlannedAction, Partial<RemovalSummary>]>([
    ["an update is none", anApply({ kind: "update" }), {}],
    ["a rejected row is none", aRejectedTenant(), {}],
    ["a replacement", aReplace(), { replacements: 1 }],
    ["a replacement under way", aReplace({ underWay: true }), {}],
    ["a deletion", aDelete(), { deletions: 1, gone: 1 }],
    ["a deletion under way", aDelete({ underWay: true }), { gone: 1 }],
    [
      "a deletion of a tenant unseen in the new source",
      aDelete({ absence: "estranged" }),
      { deletions: 1, estranged: 1, gone: 1 },
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
  const builder = new RemovalSummaryBuilder(SCOPE);
  for (const action of [...due, aDelete({ user_group_id: "c", underWay: true }), aMissing(1)])
    builder.add(action);
  const code = new ApprovalCode(SCOPE);
  for (const removal of due) code.add(removal);
  expect(builder.summary().code).toBe(code.get());
});
