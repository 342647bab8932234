import { describe, expect, it, vi } from "vitest";
import type { GroupRecord } from "../../../src/core/record/record.ts";
import { heldOf } from "../../../src/engine/plan/plan.ts";
import { aChangeFailure } from "../../builders/groups.ts";
import { tenants } from "../../fakes/world.ts";
import { AT_ONCE, aPlan, changes, confirmed, NEW, NOW, OWNED } from "./a-plan.ts";

it("changes that failed before come after the creates and before the removals, even if they are under way", async () => {
  const records = tenants("a", "b", "c", "d", "e", "f", "g");
  const failure = { ...aChangeFailure({ retryAt: NOW }), since: NOW };
  const failed = { failures: { ...NEW.failures, change: failure } };
  const outdated = (n: number, overrides: Partial<GroupRecord> = {}): GroupRecord =>
    confirmed({ ...records[n], name: "Old" }, overrides);
  const planned = await aPlan(
    records,
    [
      ["a", { ...NEW, intent: "apply", ...failed }],
      ["b", { ...NEW, ...failed }],
      ["c", outdated(2, failed)],
      ["d", outdated(3)],
      ["e", { ...NEW, intent: "apply" }],
      // A failed rotation says nothing about the group's changes.
      ["f", outdated(5, { intent: "rotate", failures: { ...NEW.failures, rotation: failure } })],
      ["gone", OWNED],
      ["not gone yet", { ...OWNED, intent: "delete", ...failed }],
    ],
    { deletion: AT_ONCE },
  );
  expect(await changes(planned)).toEqual([
    "create e",
    "update f",
    "create g",
    "create a",
    "create b",
    "update c",
    "delete not gone yet",
    "update d",
    "delete gone",
  ]);
});

it("the entries are read once for each phase that has changes, and not at all without changes", async () => {
  const creates = await aPlan(tenants("a", "b"), []);
  const reads = vi.spyOn(creates.entries, "read");
  expect(await changes(creates)).toEqual(["create a", "create b"]);
  expect(reads).toHaveBeenCalledTimes(1);

  const rejected = await aPlan([{ id: null }], []);
  const none = vi.spyOn(rejected.entries, "read");
  expect(await changes(rejected)).toEqual([]);
  for await (const _ of heldOf(rejected)) throw new Error("nothing is held");
  expect(none).not.toHaveBeenCalled();
});

describe("removals", () => {
  const present = tenants("a", "b", "c");
  const renamed = present.map((tenant) => confirmed({ ...tenant, name: "Old" }));
  const ledger: [string, GroupRecord][] = [
    ["a", confirmed(present[0] ?? {})],
    ["b", renamed[1] ?? NEW],
    ["begun", { ...OWNED, intent: "delete" }],
    ["c", { ...(renamed[2] ?? NEW), intent: "replace" }],
    ["gone", OWNED],
  ];
  const open = { update: "replace", deletion: AT_ONCE } as const;

  it("come last: first those under way, then replacements, then deletions", async () => {
    const planned = await aPlan(tenants("a", "b", "c", "new"), ledger, open);
    expect(planned.guard).toEqual({ kind: "allowed", approved: false });
    expect(await changes(planned)).toEqual([
      "delete begun",
      "replace c",
      "create new",
      "replace b",
      "delete gone",
    ]);
  });

  it("are held together, except those that an earlier run has begun", async () => {
    const closed = { ...AT_ONCE, limit: { count: 1, percent: 0 } };
    const planned = await aPlan(present, ledger, { ...open, deletion: closed });
    expect(planned.guard).toMatchObject({ kind: "held" });
    expect(await changes(planned)).toEqual(["delete begun", "replace c"]);
    const held: string[] = [];
    for await (const batch of heldOf(planned)) {
      for (const { kind, user_group_id } of batch) held.push(`${kind} ${user_group_id}`);
    }
    expect(held).toEqual(["replace b", "delete gone"]);
  });

  it("are limited by a share of all groups, including those in unchanged buckets", async () => {
    const many = tenants(...Array.from({ length: 50 }, (_, n) => `tenant ${n}`));
    const rows = many.map((record): [string, GroupRecord] => [String(record.id), confirmed(record)]);
    const four = ["w", "x", "y", "z"].map((id): [string, GroupRecord] => [id, OWNED]);
    const held = await aPlan(many, [...rows, ...four], {
      deletion: { ...AT_ONCE, limit: { count: 3, percent: 7 } },
    });
    expect(held.guard).toMatchObject({ kind: "held", circumstances: { owned: 54 } });
    const free = await aPlan(many, [...rows, ...four], {
      deletion: { ...AT_ONCE, limit: { count: 3, percent: 8 } },
    });
    expect(free.guard.kind).toBe("allowed");
  });
});
