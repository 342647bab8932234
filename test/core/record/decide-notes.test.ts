import { describe, expect, it } from "vitest";
import type { LedgerGroup } from "../../../src/core/group/ledger-group.ts";
import type { Tenant } from "../../../src/core/group/tenant.ts";
import { decide } from "../../../src/core/record/decide.ts";
import {
  aChangeFailure,
  aDecisionContext,
  aDesiredTenant,
  aFlaggedTenant,
  aLedgerGroup,
  anAbsence,
  aReading,
  aRejectedTenant,
  aTenantNotReady,
  failures,
} from "../../builders/groups.ts";

const TENANTS: readonly (Tenant | undefined)[] = [
  aDesiredTenant(),
  aRejectedTenant(),
  aTenantNotReady(),
  aFlaggedTenant(),
  undefined,
];

describe("a tenant's presence is noted", () => {
  it("a tenant that came back to a group that has to be changed has returned all the same", () => {
    const context = aDecisionContext();
    for (const overrides of [{ fingerprint: "other" }, { intent: "delete" }] as const) {
      const known = aLedgerGroup({ absence: anAbsence(), ...overrides });
      expect(decide(aDesiredTenant(), known, context).note).toEqual({
        kind: "returned",
        user_group_id: "acme",
      });
    }
  });

  it("but not that a tenant is gone, by a plan for some tenants alone", () => {
    const context = aDecisionContext({ isWhole: false });
    const groups = [
      aLedgerGroup(),
      aLedgerGroup({ absence: anAbsence() }),
      aLedgerGroup({ fingerprint: null }),
    ];
    const notes = TENANTS.map((tenant) => groups.map((known) => decide(tenant, known, context).note?.kind));
    expect(notes).toEqual([
      [undefined, "settled", undefined],
      [undefined, "returned", undefined],
      [undefined, "change_dropped", "forgotten"],
      [undefined, undefined, undefined],
      [undefined, undefined, undefined],
    ]);
  });

  it("a failed change is forgotten while the tenant isn't ready, or its group is left outdated: nothing tries it again", () => {
    const change = aChangeFailure();
    const noted = (overrides: Partial<LedgerGroup>) =>
      decide(aTenantNotReady(), aLedgerGroup(overrides), aDecisionContext()).note;
    expect(noted({ failures: failures({ change }) })).toEqual({
      kind: "change_dropped",
      user_group_id: "acme",
    });
    expect(noted({ failures: failures({ rotation: change, storing: change }) })).toBeNull();
    const outdated = aLedgerGroup({ fingerprint: "other", failures: failures({ change }) });
    expect(decide(aDesiredTenant(), outdated, aDecisionContext({ update: "never" })).note).toEqual({
      kind: "change_dropped",
      user_group_id: "acme",
    });
  });

  it("an absence that was noted at the grace clock of now, or earlier, stands, unless there was a long pause", () => {
    const { clock } = aReading();
    const noted = (ms: number, afterLongPause = false) => {
      const known = aLedgerGroup({ absence: anAbsence({ at: { ...clock, ms } }) });
      return decide(undefined, known, aDecisionContext({ reading: aReading({ afterLongPause }) })).note;
    };
    const anew = { kind: "left", user_group_id: "acme", absence: "absent", clock };
    expect([noted(clock.ms), noted(clock.ms + 1), noted(clock.ms, true)]).toEqual([null, anew, anew]);
  });

  it("no more, if its group was never made", () => {
    const known = aLedgerGroup({ fingerprint: null });
    for (const tenant of [undefined, aTenantNotReady()])
      expect(decide(tenant, known, aDecisionContext()).note).toEqual({
        kind: "forgotten",
        user_group_id: "acme",
      });
  });
});

describe("a group that is as it should be is noted as settled", () => {
  const tenant = { ...aDesiredTenant(), dataSourceId: "warehouse-7" };
  const settled = {
    kind: "settled",
    user_group_id: "acme",
    row: tenant.row,
    dataSourceId: "warehouse-7",
  };
  it.each([
    ["where another row gives the same group", { digest: "0" }, settled],
    ["where its id has moved to another bucket", { bucket: 8 }, settled],
    ["where its row was never recorded", { digest: null }, settled],
    ["but not where there is nothing new", {}, null],
    [
      "but not where its token alone fails",
      { failures: failures({ rotation: aChangeFailure(), storing: aChangeFailure() }) },
      null,
    ],
  ])("%s", (_, overrides, note) => {
    expect(decide(tenant, aLedgerGroup(overrides), aDecisionContext()).note).toEqual(note);
  });
});
