import { describe, expect, it } from "vitest";
import type { AbsenceKind, LedgerGroup } from "../../../src/core/group/ledger-group.ts";
import type { Tenant } from "../../../src/core/group/tenant.ts";
import { decide, type Note } from "../../../src/core/record/decide.ts";
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

/** Elsewhere: in the first read of another source. */
type Source = "desired" | "rejected" | "not ready" | "absent" | "flagged" | "absent elsewhere";

const tenants: Record<Source, Tenant | undefined> = {
  desired: aDesiredTenant(),
  rejected: aRejectedTenant(),
  "not ready": aTenantNotReady(),
  absent: undefined,
  flagged: aFlaggedTenant(),
  "absent elsewhere": undefined,
};

describe("a tenant's presence is noted once:", () => {
  type Known = "unknown" | "never made" | "there" | AbsenceKind;
  const ledger: Record<Known, LedgerGroup | undefined> = {
    unknown: undefined,
    "never made": aLedgerGroup({ fingerprint: null }),
    there: aLedgerGroup(),
    absent: aLedgerGroup({ absence: anAbsence({ kind: "absent" }) }),
    flagged: aLedgerGroup({ absence: anAbsence({ kind: "flagged" }) }),
    unseen: aLedgerGroup({ absence: anAbsence({ kind: "unseen" }) }),
  };

  type Noted = Exclude<Note["kind"], "left"> | `left: ${AbsenceKind}` | null;
  const inWords = (note: Note | null): Noted =>
    note?.kind === "left" ? `left: ${note.absence}` : (note?.kind ?? null);

  // biome-ignore format: a table is read by its columns
  const notes: Record<Source, Record<Known, Noted>> = {
    desired:            { unknown: null, "never made": null,        there: null,
                          absent: "settled",         flagged: "settled",         unseen: "settled" },
    rejected:           { unknown: null, "never made": null,        there: null,
                          absent: "returned",        flagged: "returned",        unseen: "returned" },
    "not ready":        { unknown: null, "never made": "forgotten", there: null,
                          absent: "change_dropped",       flagged: "change_dropped",       unseen: "change_dropped" },
    absent:             { unknown: null, "never made": "forgotten", there: "left: absent",
                          absent: null,              flagged: null,              unseen: null },
    flagged:            { unknown: null, "never made": "forgotten", there: "left: flagged",
                          absent: "left: flagged",   flagged: null,              unseen: null },
    "absent elsewhere": { unknown: null, "never made": "forgotten", there: "left: unseen",
                          absent: "left: unseen", flagged: "left: unseen", unseen: null },
  };
  const cells = Object.entries(notes).flatMap(([source, states]) =>
    Object.entries(states).map(([state, note]) => [source, state, note] as [Source, Known, Noted]),
  );

  it.each(cells)("%s, and in the ledger %s: %s", (source, state, note) => {
    const sourceChanged = source === "absent elsewhere";
    const tenant = tenants[source];
    const context = aDecisionContext({ reading: aReading({ sourceChanged }) });
    const noted = decide(tenant, ledger[state], context).note;
    expect(inWords(noted)).toBe(note);
    if (noted) expect(noted).toMatchObject({ user_group_id: "acme" });
    if (noted?.kind === "left") expect(noted.clock).toEqual(context.reading.clock);
  });

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

  it("a tenant is recorded as gone even if its group is to be deleted at once: the deletion may be held", () => {
    const { deletion } = aDecisionContext();
    const context = aDecisionContext({ deletion: { ...deletion, gracePeriodMs: 0 } });
    expect(decide(undefined, aLedgerGroup(), context)).toMatchObject({
      action: { kind: "delete" },
      note: { kind: "left" },
    });
  });

  it("but not that a tenant is gone, by a look at some tenants alone", () => {
    const context = aDecisionContext({ isWhole: false });
    for (const [source, tenant] of Object.entries(tenants)) {
      for (const known of Object.values(ledger)) {
        const { note } = decide(tenant, known, context);
        const waits = [null, "change_dropped", "forgotten"];
        const mayBe = { desired: [null, "settled"], rejected: [null, "returned"], "not ready": waits }[
          source
        ] ?? [null];
        expect(mayBe).toContain(note?.kind ?? null);
      }
    }
  });

  it("a failed change is forgotten while the tenant isn't ready, or its group is left outdated: nothing tries it again", () => {
    const change = aChangeFailure();
    const noted = (overrides: Partial<LedgerGroup>) =>
      decide(tenants["not ready"], aLedgerGroup(overrides), aDecisionContext()).note;
    expect(noted({ failures: failures({ change }) })).toEqual({
      kind: "change_dropped",
      user_group_id: "acme",
    });
    expect(noted({ failures: failures({ rotation: change, storing: change }) })).toBeNull();
    const outdated = aLedgerGroup({ fingerprint: "other", failures: failures({ change }) });
    expect(decide(tenants.desired, outdated, aDecisionContext({ update: "never" })).note).toEqual({
      kind: "change_dropped",
      user_group_id: "acme",
    });
  });

  it("an absence begins anew after a long pause", () => {
    const known = aLedgerGroup({ absence: anAbsence({ kind: "absent" }) });
    const noted = (afterLongPause: boolean) =>
      decide(undefined, known, aDecisionContext({ reading: aReading({ afterLongPause }) })).note?.kind;
    expect([noted(false), noted(true)]).toEqual([undefined, "left"]);
  });

  it("an absence that was noted at the grace clock of now, or earlier, stands", () => {
    const { clock } = aReading();
    const noted = (ms: number) =>
      decide(undefined, aLedgerGroup({ absence: anAbsence({ at: { ...clock, ms } }) }), aDecisionContext())
        .note?.kind;
    expect([noted(clock.ms), noted(clock.ms + 1)]).toEqual([undefined, "left"]);
  });

  it("a creation that may have happened is not forgotten", () => {
    const known = aLedgerGroup({ fingerprint: null, intent: "apply" });
    expect(decide(tenants["not ready"], known, aDecisionContext()).note).toBeNull();
    expect(decide(undefined, known, aDecisionContext()).note?.kind).toBe("left");
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
    [
      "where a change that failed was taken back",
      { failures: failures({ change: aChangeFailure() }) },
      settled,
    ],
    ["where its tenant was gone", { absence: anAbsence() }, settled],
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

  it("but not while something has to be done about it", () => {
    const known = aLedgerGroup({ fingerprint: "other", failures: failures({ change: aChangeFailure() }) });
    expect(decide(tenant, known, aDecisionContext()).note).toBeNull();
  });
});
