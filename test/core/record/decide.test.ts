import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type AbsenceKind,
  type GraceClock,
  type LedgerGroup,
  UNKNOWN_STATE,
} from "../../../src/core/group/ledger-group.ts";
import type { Tenant } from "../../../src/core/group/tenant.ts";
import { DELETED } from "../../../src/core/plan/change.ts";
import type { DeletionPolicy } from "../../../src/core/plan/deletion-policy.ts";
import {
  decide,
  type PlannedAction,
  type PlanningContext,
  type UpdatePolicy,
} from "../../../src/core/record/decide.ts";
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

// Deletions by clearance, limit and read have a table of their own: deletion-table.test.ts.

const NOW = new Date("2026-03-01T12:00:00Z");
const later = new Date("2026-03-01T12:00:01Z");
const HOUR = 3_600_000;

/** The healthy clock, in hours. */
const clock = (hours: number, reads: number): GraceClock => ({ ms: hours * HOUR, reads });

const aContext = (overrides: Partial<PlanningContext> = {}): PlanningContext =>
  aDecisionContext({ now: NOW, reading: aReading({ clock: clock(100, 50) }), ...overrides });

const actionOn = (...given: Parameters<typeof decide>): PlannedAction | null => decide(...given).action;

type Source = "desired" | "rejected" | "not ready" | "absent" | "flagged";

const tenants: Record<Source, Tenant | undefined> = {
  desired: aDesiredTenant(),
  rejected: aRejectedTenant(),
  "not ready": aTenantNotReady(),
  absent: undefined,
  flagged: aFlaggedTenant(),
};

describe("the action, the note, and whether a GET settles what is under way:", () => {
  const gone = anAbsence({ at: clock(76, 49) });
  const ledger = {
    unknown: undefined,
    "never made": aLedgerGroup({ fingerprint: null }),
    "being created": aLedgerGroup({ fingerprint: null, intent: "apply" }),
    "the same": aLedgerGroup(),
    another: aLedgerGroup({ fingerprint: "other" }),
    "being updated": aLedgerGroup({ intent: "apply" }),
    "being rotated": aLedgerGroup({ intent: "rotate" }),
    "being replaced": aLedgerGroup({ intent: "replace" }),
    "being deleted": aLedgerGroup({ intent: "delete", absence: gone }),
    "a token to remove": aLedgerGroup({ fingerprint: null, intent: "remove", absence: gone }),
    failed: aLedgerGroup({ failures: failures({ change: aChangeFailure() }) }),
    "gone for long": aLedgerGroup({ absence: gone }),
    "flagged before": aLedgerGroup({ absence: { ...gone, kind: "flagged" } }),
    "never seen": aLedgerGroup({ absence: { ...gone, kind: "unseen" } }),
    "a canary": aLedgerGroup({ fingerprint: null, intent: "delete", absence: { ...gone, kind: "canary" } }),
  };
  const SOURCES = ["desired", "rejected", "not ready", "absent", "flagged"] as const;
  // biome-ignore format: a table is read by its columns
  const TABLE: Record<keyof typeof ledger, readonly [desired: string, rejected: string, notReady: string, absent: string, flagged: string, absentElsewhere: string]> = {
    unknown:             ["create",          "rejected",          "not_ready",                "",                             "",                              ""],
    "never made":        ["create",          "rejected",          "not_ready forgotten",      "forgotten",                    "forgotten",                     "forgotten"],
    "being created":     ["create",          "rejected",          "not_ready",                "missing left: absent",         "missing left: flagged",         "missing left: unseen"],
    "the same":          ["",                "rejected",          "not_ready",                "missing left: absent",         "missing left: flagged",         "missing left: unseen"],
    another:             ["update",          "rejected",          "not_ready",                "missing left: absent",         "missing left: flagged",         "missing left: unseen"],
    "being updated":     ["update",          "rejected settles",  "not_ready settles",        "missing left: absent settles", "missing left: flagged settles", "missing left: unseen settles"],
    "being rotated":     ["update",          "rejected settles",  "not_ready settles",        "missing left: absent settles", "missing left: flagged settles", "missing left: unseen settles"],
    "being replaced":    ["replace",         "rejected",          "not_ready",                "missing left: absent",         "missing left: flagged",         "missing left: unseen"],
    "being deleted":     ["update returned", "rejected returned", "not_ready change_dropped", "delete",                       "delete left: flagged",          "delete left: unseen"],
    "a token to remove": ["create returned", "rejected returned", "not_ready change_dropped", "delete",                       "delete left: flagged",          "delete left: unseen"],
    failed:              ["settled",         "rejected",          "not_ready change_dropped", "missing left: absent",         "missing left: flagged",         "missing left: unseen"],
    "gone for long":     ["settled",         "rejected returned", "not_ready change_dropped", "delete",                       "missing left: flagged",         "missing left: unseen"],
    "flagged before":    ["settled",         "rejected returned", "not_ready change_dropped", "delete",                       "delete",                        "missing left: unseen"],
    "never seen":        ["settled",         "rejected returned", "not_ready change_dropped", "delete",                       "delete",                        "delete"],
    "a canary":          ["replace returned", "rejected returned", "not_ready change_dropped", "delete",                      "delete",                        "delete"],
  };

  it.each(Object.entries(TABLE) as [keyof typeof ledger, readonly string[]][])("%s", (state, expected) => {
    const decided = [...SOURCES, null].map((source) => {
      const reading = aReading({ clock: clock(100, 50), sourceChanged: source === null });
      const tenant = source === null ? undefined : tenants[source];
      const { action, note, settles } = decide(tenant, ledger[state], aContext({ reading }));
      const noted = note?.kind === "left" ? `left: ${note.absence}` : note?.kind;
      return [action?.kind, noted, settles && "settles"].filter(Boolean).join(" ");
    });
    expect(decided).toEqual(expected);
  });
});

describe("under every service.update, a desired tenant whose group in the ledger is", () => {
  type Decided = PlannedAction["kind"] | null;
  type Expected = Decided | ((context: PlanningContext) => Decided);

  const asConfigured = ({ update }: PlanningContext): Decided =>
    (({ upsert: "update", replace: "replace", never: "outdated" }) as const)[update];
  const finish = ({ update }: PlanningContext): Decided => (update === "replace" ? "replace" : "update");
  const unlessEager =
    (kind: Decided): Expected =>
    ({ eager }) =>
      eager ? kind : "waiting";
  const ifUnverified: Expected = (context) =>
    context.serviceUpdates === false ? asConfigured(context) : null;
  // By an update: a replacement has not failed yet.
  const ifFailed: Expected = (context) =>
    context.update === "upsert" && !context.eager ? "waiting" : asConfigured(context);

  const neverMade = { fingerprint: null };
  const another = { fingerprint: "other" };
  const unknown = { fingerprint: UNKNOWN_STATE };
  const gone = { absence: anAbsence(), held: "delete" } as const;
  const failed = (fingerprint = aChangeFailure().fingerprint, retryAt = later) => ({
    failures: failures({ change: aChangeFailure({ retryAt, fingerprint }) }),
  });
  const replaced = `replaced ${aLedgerGroup().fingerprint}`;
  const group = aLedgerGroup;
  const TABLE: readonly [state: string, known: LedgerGroup | undefined, expected: Expected][] = [
    ["unknown", undefined, "create"],
    ["never made", group(neverMade), "create"],
    ["never confirmed", group({ ...neverMade, intent: "apply" }), "create"],
    ["never confirmed, being replaced", group({ ...neverMade, intent: "replace" }), "replace"],
    ["never confirmed, being deleted", group({ ...neverMade, intent: "delete" }), "replace"],
    ["in an unknown state", group(unknown), asConfigured],
    ["in an unknown state, under way", group({ ...unknown, intent: "apply" }), finish],
    ["in an unknown state, being deleted", group({ ...unknown, intent: "delete" }), "replace"],
    ["the same", group(), null],
    ["another", group(another), asConfigured],
    ["under way", group({ intent: "apply" }), "update"],
    ["under way, another", group({ ...another, intent: "apply" }), asConfigured],
    ["being replaced", group({ intent: "replace" }), "replace"],
    ["being replaced, another", group({ ...another, intent: "replace" }), "replace"],
    ["being deleted", group({ intent: "delete", absence: anAbsence() }), "update"],
    ["being deleted, another", group({ ...another, intent: "delete", absence: anAbsence() }), finish],
    ["gone", group(gone), null],
    ["gone, another", group({ ...another, ...gone }), asConfigured],
    ["held for replacement, another", group({ ...another, held: "replace" }), asConfigured],
    ["updated unverified", group({ unverified: "updated" }), ifUnverified],
    ["failed, due", group({ ...another, ...failed(undefined, NOW) }), asConfigured],
    ["failed, not due", group({ ...another, ...failed() }), ifFailed],
    ["failed with another state, not due", group({ ...another, ...failed("another") }), asConfigured],
    ["failed at creation, not due", group({ ...neverMade, ...failed() }), unlessEager("create")],
    ["failed while under way, not due", group({ intent: "apply", ...failed() }), unlessEager("update")],
    [
      "failed while being replaced, not due",
      group({ intent: "replace", ...failed(replaced) }),
      unlessEager("replace"),
    ],
    [
      "failed and then being rotated, not due",
      group({ ...another, intent: "rotate", ...failed() }),
      asConfigured,
    ],
    ["failed and then being deleted, not due", group({ ...another, intent: "delete", ...failed() }), finish],
    ["failed at being deleted, not due", group({ intent: "delete", ...failed(DELETED) }), "update"],
  ];

  const policies: Record<UpdatePolicy, 0> = { upsert: 0, replace: 0, never: 0 };
  const contexts = (Object.keys(policies) as UpdatePolicy[]).flatMap((update) =>
    [null, true, false].flatMap((serviceUpdates) =>
      [true, false].map((eager) => aContext({ update, serviceUpdates, eager })),
    ),
  );

  it.each(TABLE)("%s", (_, known, kind) => {
    for (const context of contexts) {
      const wanted = typeof kind === "function" ? kind(context) : kind;
      const decided = actionOn(tenants.desired, known, context)?.kind ?? null;
      expect({ context, decided }).toEqual({ context, decided: wanted });
    }
  });
});

describe("a change that an earlier run may have begun is marked as such:", () => {
  const changed = { fingerprint: "other" };
  it.each<[string, LedgerGroup | undefined, boolean]>([
    ["not a creation of which nothing is known", undefined, false],
    ["a creation without a confirmation", aLedgerGroup({ fingerprint: null, intent: "apply" }), true],
    ["an update under way", aLedgerGroup({ intent: "apply" }), true],
    ["an update in place of a deletion", aLedgerGroup({ intent: "delete" }), true],
    ["not a replacement at rest", aLedgerGroup(changed), false],
    ["a replacement under way", aLedgerGroup({ ...changed, intent: "replace" }), true],
    ["a replacement in place of a deletion", aLedgerGroup({ ...changed, intent: "delete" }), true],
    ["not a replacement in place of an update", aLedgerGroup({ ...changed, intent: "apply" }), false],
  ])("%s", (_, known, underWay) => {
    expect(actionOn(tenants.desired, known, aContext({ update: "replace" }))).toMatchObject({ underWay });
  });
});

it("a change says what to send, and whether it has failed before", () => {
  const { kind, ...tenant } = aDesiredTenant();
  const first = { ...tenant, underWay: false, failedBefore: false };
  expect(decide(tenants.desired, undefined, aContext())).toEqual({
    ...{ action: { kind: "create", ...first }, note: null, settles: false },
  });
  const failed = aLedgerGroup({ fingerprint: "other", failures: failures({ change: aChangeFailure() }) });
  expect(actionOn(tenants.desired, failed, aContext())).toEqual({
    ...{ kind: "update", ...first, failedBefore: true },
  });
  expect(actionOn(tenants.desired, failed, aContext({ update: "never" }))).toEqual({
    ...{ kind: "outdated", user_group_id: "acme" },
  });
});

it("a group that waits says why and until when", () => {
  const failed = aLedgerGroup({
    fingerprint: "other",
    failures: failures({ change: aChangeFailure({ retryAt: later }) }),
  });
  expect(actionOn(tenants.desired, failed, aContext())).toEqual({
    kind: "waiting",
    user_group_id: "acme",
    code: "REFUSED",
    message: "GET was answered HTTP 422",
    retryAt: "2026-03-01T12:00:01.000Z",
  });
});

describe("a tenant that is gone", () => {
  const grace = (gracePeriodMs: number, when: DeletionPolicy["when"] = "absent"): DeletionPolicy => ({
    when,
    gracePeriodMs,
    limit: { count: 3, percent: 10 },
  });
  const goneSince = (at: GraceClock, kind: AbsenceKind = "absent"): LedgerGroup =>
    aLedgerGroup({ absence: anAbsence({ kind, at }) });
  const missing = (hours: number | null, absence: AbsenceKind = "absent") => ({
    kind: "missing",
    user_group_id: "acme",
    absence,
    dueInMs: hours === null ? null : hours * HOUR,
  });
  const deleted = (absence: AbsenceKind = "absent", underWay = false) => ({
    kind: "delete",
    user_group_id: "acme",
    absence,
    underWay,
    failedBefore: false,
  });

  it.each<[string, LedgerGroup, Partial<PlanningContext>, object | null]>([
    ["and was there before has all of the grace period", aLedgerGroup(), {}, missing(24)],
    ["has what remains of it", goneSince(clock(90, 40)), {}, missing(14)],
    ["is deleted once it is over", goneSince(clock(76, 49)), {}, deleted()],
    ["is not deleted in the very read that first missed it", goneSince(clock(76, 50)), {}, missing(0)],
    ["is deleted at once without a grace period", aLedgerGroup(), { deletion: grace(0) }, deleted()],
  ])("%s", (_, known, context, decision) => {
    expect(actionOn(undefined, known, aContext(context))).toEqual(decision);
  });

  it("has the grace period begin anew by a flag, by another source, and if it was never recorded", () => {
    const gone = goneSince(clock(0, 1));
    const reading = aReading({ clock: clock(100, 50), sourceChanged: true });
    expect(actionOn(tenants.flagged, gone, aContext())).toEqual(missing(24, "flagged"));
    expect(actionOn(undefined, gone, aContext({ reading }))).toEqual(missing(24, "unseen"));
    expect(actionOn(undefined, goneSince(clock(101, 49)), aContext())).toEqual(missing(24));
  });

  it("is no longer flagged in a source that never had it, even if an earlier source flagged it", () => {
    const known = goneSince(clock(76, 49), "flagged");
    const elsewhere = aReading({ clock: clock(100, 50), sourceChanged: true });
    const context = aContext({ reading: elsewhere, deletion: grace(24 * HOUR, "flagged") });
    expect(actionOn(undefined, known, context)).toEqual(missing(null, "unseen"));
  });

  it("stays unseen when the source is the known one again, until it is seen to be there", () => {
    const known = goneSince(clock(76, 49), "unseen");
    expect(actionOn(undefined, known, aContext())).toEqual(deleted("unseen"));
    for (const when of ["absent", "flagged"] as const)
      expect(actionOn(tenants.flagged, known, aContext({ deletion: grace(24 * HOUR, when) }))).toEqual(
        deleted("unseen"),
      );
    expect(actionOn(undefined, aLedgerGroup({ absence: null }), aContext())).toEqual(missing(24));
  });

  it("stays due while it is held, though the clock stands still or began anew", () => {
    const held = aLedgerGroup({ held: "delete", absence: anAbsence({ at: clock(100, 50) }) });
    expect(actionOn(undefined, held, aContext())).toEqual(deleted());
    expect(actionOn(tenants.flagged, held, aContext())).toEqual(deleted("flagged"));
    expect(actionOn(undefined, held, aContext({ deletion: grace(0, "never") }))).toEqual(missing(null));
  });

  it("has all of the grace period again after a long pause, in which it may have been back", () => {
    const reading = aReading({ clock: clock(100, 50), afterLongPause: true });
    const context = aContext({ reading });
    expect(actionOn(undefined, goneSince(clock(76, 49)), context)).toEqual(missing(24));
    expect(actionOn(undefined, aLedgerGroup({ intent: "delete" }), context)).toEqual(deleted("absent", true));
    const held = aLedgerGroup({ held: "delete", absence: anAbsence({ at: clock(76, 49) }) });
    expect(actionOn(undefined, held, context)).toEqual(missing(24));
  });

  it("is kept while the clocks differ, unless its deletion was begun", () => {
    const reading = aReading({ clock: clock(100, 50), hostLeadMs: 26 * HOUR });
    const context = aContext({ reading });
    const held = aLedgerGroup({ held: "delete", absence: anAbsence({ at: clock(76, 49) }) });
    expect(actionOn(undefined, held, context)).toEqual(missing(0));
    expect(actionOn(undefined, goneSince(clock(0, 1)), context)).toEqual(missing(0));
    expect(actionOn(undefined, aLedgerGroup(), aContext({ reading, deletion: grace(0) }))).toEqual(
      missing(0),
    );
    const begun = aLedgerGroup({ intent: "delete" });
    expect(actionOn(undefined, begun, context)).toEqual(deleted("absent", true));
  });

  it("has no deletion held by a replacement that is", () => {
    const held = aLedgerGroup({ held: "replace", absence: anAbsence({ at: clock(99, 49) }) });
    expect(actionOn(undefined, held, aContext())).toEqual(missing(23));
  });

  it("needs nothing if there is no group, but is reported if the operator named it", () => {
    const gone = { kind: "gone", user_group_id: "acme" };
    for (const tenant of [tenants.absent, tenants.flagged]) {
      expect(actionOn(tenant, undefined, aContext({ deletion: grace(0) }))).toBeNull();
      const neverMade = aLedgerGroup({ fingerprint: null, failures: failures({ change: aChangeFailure() }) });
      expect(actionOn(tenant, neverMade, aContext({ deletion: grace(0) }))).toBeNull();
      expect(actionOn(tenant, neverMade, aContext({ isWhole: false }))).toEqual(gone);
    }
    expect(actionOn(tenants.flagged, undefined, aContext({ isWhole: false }))).toEqual(gone);
  });

  describe("and whose deletion has failed", () => {
    const failed = (overrides: Partial<LedgerGroup> = {}): LedgerGroup =>
      aLedgerGroup({
        absence: anAbsence({ at: clock(76, 49) }),
        failures: failures({ change: aChangeFailure({ fingerprint: DELETED, retryAt: later }) }),
        ...overrides,
      });

    it.each<[string, LedgerGroup, Partial<PlanningContext>, PlannedAction["kind"]]>([
      ["waits until its time has come", failed(), {}, "waiting"],
      ["is deleted then", failed(), { now: later }, "delete"],
      ["is missing for a look at some tenants alone", failed(), { isWhole: false, eager: true }, "missing"],
      ["waits also where its deletion is under way", failed({ intent: "delete" }), {}, "waiting"],
      [
        "doesn't wait because an update has failed",
        failed({ failures: failures({ change: aChangeFailure({ retryAt: later }) }) }),
        {},
        "delete",
      ],
      ["is merely missing until it is due again", failed({ absence: null }), {}, "missing"],
    ])("%s", (_, known, context, kind) => {
      const action = actionOn(undefined, known, aContext(context));
      expect(action).toMatchObject({ kind, ...(kind === "delete" && { failedBefore: true }) });
    });
  });

  it("is not deleted by a plan for some tenants alone, whatever its state is", () => {
    const some = { isWhole: false, eager: true };
    expect(actionOn(undefined, goneSince(clock(99, 49)), aContext(some))).toEqual(missing(23));
    expect(actionOn(undefined, goneSince(clock(76, 49)), aContext(some))).toEqual(missing(0));
    expect(actionOn(undefined, aLedgerGroup(), aContext({ ...some, deletion: grace(0) }))).toEqual(
      missing(0),
    );
    for (const state of [{ intent: "delete" }, { intent: "remove" }, { held: "delete" }] as const)
      expect(actionOn(undefined, aLedgerGroup(state), aContext(some))).toEqual(missing(0));
  });
});

it("a call sends the desired group or the confirmed one, and none removes a group whose row doesn't say so", () => {
  const anyKnown: fc.Arbitrary<LedgerGroup> = fc
    .record({
      fingerprint: fc.constantFrom(null, "other", UNKNOWN_STATE, aLedgerGroup().fingerprint),
      intent: fc.constantFrom(null, "apply", "replace", "delete", "remove", "rotate"),
      unverified: fc.constantFrom(null, "adopted", "updated"),
      absence: fc.constantFrom(
        null,
        anAbsence(),
        anAbsence({ kind: "flagged" }),
        anAbsence({ kind: "unseen" }),
      ),
      held: fc.constantFrom(null, "replace", "delete"),
      failures: fc
        .constantFrom(null, aChangeFailure(), aChangeFailure({ fingerprint: DELETED, retryAt: later }))
        .map((change) => failures({ change })),
    })
    .map(aLedgerGroup);
  const anyContext: fc.Arbitrary<PlanningContext> = fc
    .record({
      update: fc.constantFrom("upsert", "replace", "never"),
      deletion: fc.record({
        when: fc.constantFrom("absent", "flagged", "never"),
        gracePeriodMs: fc.constantFrom(0, 24 * HOUR),
        limit: fc.constant({ count: 3, percent: 10 }),
      }),
      reading: fc
        .record({
          clock: fc.constantFrom(clock(0, 1), clock(100, 50)),
          sourceChanged: fc.boolean(),
        })
        .map(aReading),
      serviceUpdates: fc.constantFrom(null, true, false),
      isWhole: fc.boolean(),
      skipsGrace: fc.boolean(),
      eager: fc.boolean(),
    })
    .map(aContext);
  const possible: Record<Source, readonly (PlannedAction["kind"] | undefined)[]> = {
    desired: ["create", "update", "replace", "outdated", "waiting", undefined],
    rejected: ["rejected"],
    "not ready": ["not_ready"],
    absent: ["delete", "missing", "waiting", "gone", undefined],
    flagged: ["delete", "missing", "waiting", "gone", undefined],
  };
  fc.assert(
    fc.property(fc.option(anyKnown, { nil: undefined }), anyContext, (known, context) => {
      for (const [source, kinds] of Object.entries(possible) as [Source, PlannedAction["kind"][]][]) {
        const { action, settles } = decide(tenants[source], known, context);
        expect(kinds).toContain(action?.kind);
        if (!context.isWhole && !context.skipsGrace) expect(action?.kind).not.toBe("delete");
        if (action && "group" in action)
          expect({ ...tenants.desired }).toMatchObject({ group: action.group });
        if (settles) expect(known?.fingerprint ?? null).not.toBeNull();
      }
    }),
  );
});

it("a GET that failed to settle a group waits for its next try, unless the operator named the tenant", () => {
  const storing = aChangeFailure({ retryAt: later });
  const known = aLedgerGroup({ intent: "rotate", failures: failures({ storing }) });
  const settles = (overrides: Partial<PlanningContext>): boolean =>
    decide(tenants.rejected, known, aContext(overrides)).settles;
  expect([settles({}), settles({ now: later }), settles({ eager: true })]).toEqual([false, true, true]);
});

describe("a GET of its own settles a group whose row has changed", () => {
  const change = aChangeFailure({ retryAt: later });
  const replacement = aChangeFailure({ retryAt: later, fingerprint: `replaced ${change.fingerprint}` });
  const storing = aChangeFailure({ retryAt: NOW });
  const another = { fingerprint: "other" };
  it.each<[string, Partial<LedgerGroup>, UpdatePolicy, PlannedAction["kind"], boolean]>([
    ["if a rotation is under way", { ...another, intent: "rotate" }, "upsert", "update", true],
    ["not if the update's GET is the same", { intent: "rotate" }, "upsert", "update", false],
    ["not if only an update is under way", { ...another, intent: "apply" }, "upsert", "update", false],
    [
      "even if the replacement waits",
      { ...another, intent: "rotate", failures: failures({ change: replacement }) },
      "replace",
      "waiting",
      true,
    ],
    [
      "not if only an update is under way, which waits",
      { ...another, intent: "apply", failures: failures({ change }) },
      "upsert",
      "waiting",
      false,
    ],
    [
      "if the token of an update that waits may be dead",
      { ...another, intent: "apply", failures: failures({ change, storing }) },
      "upsert",
      "waiting",
      true,
    ],
  ])("%s", (_, known, update, kind, settles) => {
    const decided = decide(tenants.desired, aLedgerGroup(known), aContext({ update }));
    expect(decided).toMatchObject({ action: { kind }, settles });
  });
});

describe("a group that is to be replaced, while the clocks differ,", () => {
  const context = aContext({ update: "replace", reading: aReading({ hostLeadMs: -HOUR }) });
  const changed = aDesiredTenant({ name: "Another" });

  it("waits, and what an earlier run has left under way is settled without it", () => {
    const rotating = aLedgerGroup({ intent: "rotate" });
    expect(decide(changed, rotating, context)).toMatchObject({
      action: {
        ...{ kind: "waiting", user_group_id: "acme", code: "CLOCK_DIFFERS", retryAt: NOW.toISOString() },
        message: expect.stringContaining("until the clocks agree"),
      },
      settles: true,
    });
    const reading = aReading({ hostLeadMs: -HOUR });
    expect(actionOn(changed, aLedgerGroup(), aContext({ reading }))?.kind).toBe("update");
  });

  it("is replaced if that was begun: its tenant may be without a group", () => {
    const begun = aLedgerGroup({ intent: "replace" });
    expect(actionOn(changed, begun, context)).toMatchObject({ kind: "replace", underWay: true });
  });
});

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
    const notes = Object.values(tenants).map((tenant) =>
      groups.map((known) => decide(tenant, known, context).note?.kind),
    );
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
    ["where its replacement was held, and its row is put back", { held: "replace" as const }, settled],
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
