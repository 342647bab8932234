import type { Apply } from "../../src/core/decide.ts";
import { type Group, groupFingerprint } from "../../src/core/group.ts";
import type { GroupFailure, LedgerGroup } from "../../src/core/ledger-group.ts";
import type { Applied, Failed } from "../../src/core/outcome.ts";
import { Secret } from "../../src/core/secret.ts";
import type { DesiredTenant, RejectedTenant, RowDigest } from "../../src/core/tenant.ts";
import type { Begun } from "../../src/ports/ledger.ts";

/** Builders give a whole, believable value; a test overrides what it is about. */
export const aGroup = (overrides: Partial<Group> = {}): Group => ({
  user_group_id: "acme",
  name: "Acme",
  mapping: { "40": "warehouse-7" },
  properties: { plan: "gold" },
  ...overrides,
});

export const aRow = (overrides: Partial<RowDigest> = {}): RowDigest => ({
  bucket: 7,
  digest: "4711",
  ...overrides,
});

export function aDesiredTenant(overrides: Partial<Group> = {}): DesiredTenant {
  const group = aGroup(overrides);
  const { user_group_id } = group;
  return { kind: "desired", user_group_id, group, fingerprint: groupFingerprint(group), row: aRow() };
}

export const aRejectedTenant = (overrides: Partial<RejectedTenant> = {}): RejectedTenant => ({
  kind: "rejected",
  user_group_id: "acme",
  code: "VALUE_NULL",
  message: "mapping.40 (column source) is null",
  ...overrides,
});

/** A group at rest, as `aGroup()` was confirmed. */
export const aLedgerGroup = (overrides: Partial<LedgerGroup> = {}): LedgerGroup => ({
  user_group_id: "acme",
  fingerprint: groupFingerprint(aGroup(overrides.user_group_id === undefined ? {} : overrides)),
  row: aRow(),
  underWay: false,
  unverified: null,
  missingSince: null,
  failure: null,
  ...overrides,
});

export const aGroupFailure = (overrides: Partial<GroupFailure> = {}): GroupFailure => ({
  fingerprint: groupFingerprint(aGroup()),
  code: "REFUSED",
  message: "GET was answered HTTP 422",
  count: 3,
  retryAt: new Date("2026-03-01T00:00:00Z"),
  ...overrides,
});

export function anApply(overrides: Partial<Apply> = {}): Apply {
  const group = aGroup({ user_group_id: overrides.user_group_id ?? "acme" });
  return {
    kind: "create",
    user_group_id: group.user_group_id,
    group,
    fingerprint: groupFingerprint(group),
    row: aRow(),
    underWay: false,
    ...overrides,
  };
}

export const aBegun = (overrides: Partial<Begun> = {}): Begun => ({
  apply: anApply(),
  known: false,
  confirmedName: null,
  failures: 0,
  ...overrides,
});

export const anApplied = (overrides: Partial<Applied> = {}): Applied => ({
  kind: "created",
  apply: anApply(),
  token: new Secret("ugt_acme"),
  serviceName: "Acme",
  unverified: false,
  ...overrides,
});

export const aFailed = (overrides: Partial<Failed> = {}): Failed => ({
  kind: "failed",
  apply: anApply(),
  failure: { code: "REFUSED", message: "GET was answered HTTP 422" },
  mayHaveHappened: false,
  ...overrides,
});
