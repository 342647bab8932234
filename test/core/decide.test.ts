import { describe, expect, it } from "vitest";
import {
  type DecisionContext,
  decide,
  type Note,
  noteOn,
  type PlanEntry,
  type UpdatePolicy,
} from "../../src/core/decide.ts";
import type { LedgerGroup } from "../../src/core/ledger-group.ts";
import type { Tenant } from "../../src/core/tenant.ts";
import {
  aDesiredTenant,
  aGroupFailure,
  aLedgerGroup,
  anApply,
  aRejectedTenant,
  aRow,
} from "../builders/groups.ts";

const NOW = new Date("2026-03-01T12:00:00Z");
const before = new Date("2026-03-01T11:59:59Z");
const later = new Date("2026-03-01T12:00:01Z");

type Source = "desired" | "rejected" | "absent";
type InLedger =
  | "unknown"
  | "never confirmed"
  | "the same"
  | "another"
  | "under way"
  | "under way, another"
  | "missing"
  | "missing, another"
  | "adopted unverified"
  | "updated unverified"
  | "failed, due"
  | "failed, not due"
  | "failed with another state, not due"
  | "failed at creation, not due"
  | "failed while under way, not due";

const tenants: Record<Source, Tenant | undefined> = {
  desired: aDesiredTenant(),
  rejected: aRejectedTenant(),
  absent: undefined,
};

const ledger: Record<InLedger, LedgerGroup | undefined> = {
  unknown: undefined,
  "never confirmed": aLedgerGroup({ fingerprint: null, underWay: true }),
  "the same": aLedgerGroup(),
  another: aLedgerGroup({ fingerprint: "other" }),
  "under way": aLedgerGroup({ underWay: true }),
  "under way, another": aLedgerGroup({ underWay: true, fingerprint: "other" }),
  missing: aLedgerGroup({ missingSince: before }),
  "missing, another": aLedgerGroup({ missingSince: before, fingerprint: "other" }),
  "adopted unverified": aLedgerGroup({ unverified: "adopted" }),
  "updated unverified": aLedgerGroup({ unverified: "updated" }),
  "failed, due": aLedgerGroup({ fingerprint: "other", failure: aGroupFailure({ retryAt: NOW }) }),
  "failed, not due": aLedgerGroup({ fingerprint: "other", failure: aGroupFailure({ retryAt: later }) }),
  "failed with another state, not due": aLedgerGroup({
    fingerprint: "other",
    failure: aGroupFailure({ retryAt: later, fingerprint: "another" }),
  }),
  "failed at creation, not due": aLedgerGroup({
    fingerprint: null,
    failure: aGroupFailure({ retryAt: later }),
  }),
  "failed while under way, not due": aLedgerGroup({
    underWay: true,
    failure: aGroupFailure({ retryAt: later }),
  }),
};

type Decided = PlanEntry["kind"] | null;
type Expected = Decided | ((context: DecisionContext) => Decided);

const updateIfWanted = ({ update }: DecisionContext): Decided => (update === "never" ? "outdated" : "update");
const unlessEager =
  (kind: Decided): Expected =>
  ({ eager }) =>
    eager ? kind : "waiting";

/** What a desired tenant leads to. The compiler insists on a line for each state. */
const expectedOfDesired: Record<InLedger, Expected> = {
  unknown: "create",
  "never confirmed": "create",
  "the same": null,
  another: updateIfWanted,
  "under way": "update",
  "under way, another": "update",
  missing: null,
  "missing, another": updateIfWanted,
  "adopted unverified": null,
  "updated unverified": (context) => (context.serviceUpdates === false ? updateIfWanted(context) : null),
  "failed, due": updateIfWanted,
  "failed, not due": (context) =>
    context.update === "never" ? "outdated" : context.eager ? "update" : "waiting",
  "failed with another state, not due": updateIfWanted,
  "failed at creation, not due": unlessEager("create"),
  "failed while under way, not due": unlessEager("update"),
};

const everything = <T>(value: T): Record<InLedger, T> =>
  Object.fromEntries(Object.keys(ledger).map((state) => [state, value])) as Record<InLedger, T>;

const expected: Record<Source, Record<InLedger, Expected>> = {
  desired: expectedOfDesired,
  rejected: everything<Expected>("rejected"),
  absent: everything<Expected>(null),
};

const policies = Object.keys({ upsert: 0, replace: 0, never: 0 } satisfies Record<UpdatePolicy, 0>);
const contexts: DecisionContext[] = policies.flatMap((update) =>
  [null, true, false].flatMap((serviceUpdates) =>
    [true, false].map((eager) => ({ now: NOW, update: update as UpdatePolicy, serviceUpdates, eager })),
  ),
);
const cases = Object.entries(expected).flatMap(([source, states]) =>
  Object.entries(states).map(([state, kind]) => [source as Source, state as InLedger, kind] as const),
);

describe("under every policy, a tenant that is", () => {
  it.each(cases)("%s, and in the ledger %s", (source, state, kind) => {
    for (const context of contexts) {
      const wanted = typeof kind === "function" ? kind(context) : kind;
      const decided = decide(tenants[source], ledger[state], context)?.kind ?? null;
      expect({ context, decided }).toEqual({ context, decided: wanted });
    }
  });
});

const context: DecisionContext = { now: NOW, update: "upsert", serviceUpdates: null, eager: false };

it("a call that may have been sent already is marked as such", () => {
  expect(decide(tenants.desired, ledger["never confirmed"], context)).toMatchObject({ underWay: true });
  expect(decide(tenants.desired, ledger.unknown, context)).toMatchObject({ underWay: false });
});

it("a group that waits says why and until when", () => {
  expect(decide(tenants.desired, ledger["failed, not due"], context)).toEqual({
    kind: "waiting",
    user_group_id: "acme",
    code: "REFUSED",
    message: "GET was answered HTTP 422",
    retryAt: "2026-03-01T12:00:01.000Z",
  });
});

describe("a tenant's presence is noted once:", () => {
  const notes: Record<Source, Record<"unknown" | "the same" | "missing", Note["kind"] | null>> = {
    absent: { unknown: null, "the same": "missing", missing: null },
    desired: { unknown: null, "the same": null, missing: "settled" },
    rejected: { unknown: null, "the same": null, missing: "returned" },
  };
  const all = Object.entries(notes).flatMap(([source, states]) =>
    Object.entries(states).map(([state, note]) => [source as Source, state as InLedger, note] as const),
  );
  it.each(all)("%s, and in the ledger %s: %s", (source, state, note) => {
    const decided = decide(tenants[source], ledger[state], context);
    expect(noteOn(tenants[source], ledger[state], decided)?.kind ?? null).toBe(note);
  });
});

describe("a group that is as it should be is noted as settled", () => {
  const tenant = aDesiredTenant();
  const settled = { kind: "settled", user_group_id: "acme", row: tenant.row };
  it.each([
    ["where a change that failed was taken back", { failure: aGroupFailure() }, settled],
    ["where another row gives the same group", { row: aRow({ digest: "0" }) }, settled],
    ["where its id has moved to another bucket", { row: aRow({ bucket: 8 }) }, settled],
    ["where its row was never recorded", { row: null }, settled],
    ["but not where there is nothing new", {}, null],
  ])("%s", (_, overrides, note) => {
    expect(noteOn(tenant, aLedgerGroup(overrides), null)).toEqual(note);
  });

  it("but not while something has to be done about it", () => {
    expect(noteOn(tenant, aLedgerGroup({ failure: aGroupFailure() }), anApply())).toBeNull();
  });
});
