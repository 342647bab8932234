import type { Applied, Deleted, Failed, NotUpdated } from "../../src/core/apply/outcome.ts";
import { NO_EVIDENCE } from "../../src/core/apply/update-evidence.ts";
import {
  type ChangeFailure,
  type GroupFailures,
  NO_FAILURES,
} from "../../src/core/failure/group-failures.ts";
import { type Group, groupFingerprint, groupJson, tokenFingerprint } from "../../src/core/group/group.ts";
import type { Absence, LedgerGroup } from "../../src/core/group/ledger-group.ts";
import type { Rejection } from "../../src/core/group/rejections.ts";
import type {
  DesiredTenant,
  FlaggedTenant,
  NotReadyTenant,
  RejectedTenant,
  RowDigest,
} from "../../src/core/group/tenant.ts";
import type { Apply, Delete, Replace, Upsert } from "../../src/core/plan/change.ts";
import { NO_READ_HISTORY, type ReadHistory, type Reading } from "../../src/core/plan/read-history.ts";
import type { PlanningContext } from "../../src/core/record/decide.ts";
import type { EventOf, RotationEnd } from "../../src/core/record/next.ts";
import { Secret } from "../../src/core/secret/secret.ts";
import type { ScopeState } from "../../src/ports/ledger/scope.ts";

export const fingerprintOfGroup = (group: Group): string => groupFingerprint(groupJson(group));

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
  const fingerprint = fingerprintOfGroup(group);
  return { kind: "desired", user_group_id, group, fingerprint, row: aRow(), dataSourceId: null };
}

export const aFlaggedTenant = (overrides: Partial<FlaggedTenant> = {}): FlaggedTenant => ({
  kind: "flagged",
  user_group_id: "acme",
  ...overrides,
});

export const aTenantNotReady = (overrides: Partial<NotReadyTenant> = {}): NotReadyTenant => ({
  kind: "not_ready",
  user_group_id: "acme",
  ...overrides,
});

export const aRejection = (overrides: Partial<Rejection> = {}): Rejection => ({
  user_group_id: "acme",
  bucket: 7,
  code: "VALUE_NULL",
  message: "name (column name) is null",
  rows: 1,
  ...overrides,
});

export const aRejectedTenant = (overrides: Partial<RejectedTenant> = {}): RejectedTenant => ({
  kind: "rejected",
  user_group_id: "acme",
  bucket: 7,
  code: "VALUE_NULL",
  message: "mapping.40 (column source) is null",
  ...overrides,
});

/** A group at rest, as `aGroup()` was confirmed. */
export const aLedgerGroup = (overrides: Partial<LedgerGroup> = {}): LedgerGroup => ({
  user_group_id: "acme",
  fingerprint: fingerprintOfGroup(aGroup(overrides.user_group_id === undefined ? {} : overrides)),
  ...aRow(),
  unverified: null,
  intent: null,
  absence: null,
  held: null,
  failures: NO_FAILURES,
  ...overrides,
});

/** Seen first in the first healthy read. */
export const anAbsence = (overrides: Partial<Absence> = {}): Absence => ({
  kind: "absent",
  since: new Date("2026-03-01T00:00:00Z"),
  at: { ms: 0, reads: 1 },
  ...overrides,
});

export const aChangeFailure = (overrides: Partial<ChangeFailure> = {}): ChangeFailure => ({
  fingerprint: fingerprintOfGroup(aGroup()),
  code: "REFUSED",
  message: "GET was answered HTTP 422",
  count: 3,
  retryAt: new Date("2026-03-01T00:00:00Z"),
  since: new Date("2026-02-28T00:00:00Z"),
  ...overrides,
});

/** Of these kinds, and no other. */
export const failures = (overrides: Partial<GroupFailures> = {}): GroupFailures => ({
  ...NO_FAILURES,
  ...overrides,
});

/** Of a scope that no run has recorded anything of. */
export const aScopeState = (overrides: Partial<ScopeState> = {}): ScopeState => ({
  service: { baseUrl: null, teamId: null, evidence: NO_EVIDENCE, answeredAt: null },
  history: NO_READ_HISTORY,
  tokens: { complete: null, verifiedAt: null, tables: [] },
  refreshApproved: null,
  lease: null,
  ledgerId: "ledger",
  readAt: new Date(0),
  ...overrides,
});

/** After two healthy reads of a source, an hour apart. */
export const aReadHistory = (overrides: Partial<ReadHistory> = {}): ReadHistory => ({
  source: "the source",
  table: null,
  clock: { ms: 3_600_000, reads: 2 },
  healthyAt: new Date("2026-03-01T01:00:00Z"),
  held: null,
  approvals: 0,
  ...overrides,
});

export const aReading = (overrides: Partial<Reading> = {}): Reading => ({
  source: "the source",
  table: null,
  at: new Date("2026-03-01T02:00:00Z"),
  clock: { ms: 7_200_000, reads: 3 },
  sourceChanged: false,
  afterLongPause: false,
  hostLeadMs: null,
  ...overrides,
});

export const aDecisionContext = (overrides: Partial<PlanningContext> = {}): PlanningContext => ({
  now: new Date("2026-03-01T02:00:00Z"),
  update: "upsert",
  deletion: { when: "absent", gracePeriodMs: 24 * 3_600_000, limit: { count: 3, percent: 10 } },
  reading: aReading(),
  serviceUpdates: null,
  isWhole: true,
  eager: false,
  ...overrides,
});

export const anApply = (overrides: Partial<Upsert> = {}): Upsert => ({
  kind: "create",
  ...desiredState(overrides.user_group_id),
  ...overrides,
});

export const aReplace = (overrides: Partial<Replace> = {}): Replace => ({
  kind: "replace",
  ...desiredState(overrides.user_group_id),
  ...overrides,
});

function desiredState(user_group_id = "acme"): Omit<Apply, "kind"> {
  const group = aGroup({ user_group_id });
  return {
    user_group_id: group.user_group_id,
    group,
    fingerprint: fingerprintOfGroup(group),
    row: aRow(),
    dataSourceId: null,
    underWay: false,
    failedBefore: false,
  };
}

export const aDelete = (overrides: Partial<Delete> = {}): Delete => ({
  kind: "delete",
  user_group_id: "acme",
  absence: "absent",
  underWay: false,
  failedBefore: false,
  ...overrides,
});

export const anApplied = (overrides: Partial<Applied> = {}): Applied => ({
  kind: "created",
  isNew: (overrides.kind ?? "created") === "created",
  change: anApply(),
  token: new Secret("ugt_acme"),
  serviceName: "Acme",
  unverified: false,
  ...overrides,
});

export const aNotUpdated = (overrides: Partial<NotUpdated> = {}): NotUpdated => ({
  kind: "not_updated",
  isNew: false,
  change: anApply(),
  token: new Secret("ugt_acme"),
  serviceName: "Acme",
  isUnknownState: false,
  wasRemoved: false,
  failure: { code: "NOT_UPDATED", message: "it kept the old name" },
  ...overrides,
});

export const aDeleted = (overrides: Partial<Deleted> = {}): Deleted => ({
  kind: "deleted",
  change: aDelete(),
  ...overrides,
});

export const aFailed = (overrides: Partial<Failed> = {}): Failed => ({
  kind: "failed",
  change: anApply(),
  failure: { code: "REFUSED", message: "GET was answered HTTP 422" },
  mayHaveHappened: false,
  ...overrides,
});

/** A rotation that is done. */
export const aRotation = (
  overrides: Partial<RotationEnd> & { readonly user_group_id?: string } = {},
): EventOf => ({
  kind: "rotation_ended",
  user_group_id: "acme",
  tokenFingerprint: tokenFingerprint(new Secret("ugt_acme_2")),
  failure: null,
  isOfPost: true,
  isOpen: false,
  ...overrides,
});
