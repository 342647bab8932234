import { changedFields } from "../../src/core/group/group.ts";
import { decide, type PlanningContext } from "../../src/core/record/decide.ts";
import type { GroupRecord } from "../../src/core/record/record.ts";
import type { Explanation } from "../../src/engine/explain/explain-tenant.ts";
import { unsafeToAsk } from "../../src/engine/refresh/held-refresh.ts";
import { aDecisionContext, aDesiredTenant, aRow } from "./groups.ts";
import { aRecord as aGroupRecord } from "./records.ts";

export const NO_RECORDED_FAILURES: GroupRecord["failures"] = {
  change: null,
  rotation: null,
  storing: null,
};

export const aRecordedGroup = (overrides: Partial<GroupRecord> = {}): GroupRecord =>
  aGroupRecord({
    createdAt: new Date("2026-02-01T00:00:00Z"),
    changedAt: new Date("2026-02-02T00:00:00Z"),
    tokenFingerprint: "the-hash",
    tokenSince: new Date("2026-02-03T00:00:00Z"),
    verifiedAt: new Date("2026-02-03T12:00:00Z"),
    ...overrides,
  });

/** A tenant in sync. What is planned for it follows from the tenant and its group. */
export function anExplanation(
  overrides: Partial<Omit<Explanation, "action" | "changes" | "unsafe">> = {},
  context: Partial<PlanningContext> = {},
): Explanation {
  const given = {
    user_group_id: "acme",
    columns: ["id", "name"],
    rows: [{ cells: ["acme", "Acme"], digest: aRow(), removed: false, notReady: false }],
    table: "public.customers",
    tenant: aDesiredTenant(),
    group: aRecordedGroup(),
    removals: [],
    formerTokens: [],
    rejectedSince: null,
    copies: { kind: "in every store" },
    tokenDestinations: ["table postgres://db/crm groupsync_tokens"],
    isTokenTooOld: false,
    approval: null,
    failures: [],
    now: new Date("2026-02-04T00:00:00Z"),
    ...overrides,
  } as const;
  const { tenant, group } = given;
  const decision = aDecisionContext(context);
  const confirmed = group?.confirmed;
  return {
    ...given,
    action: decide(tenant, group ?? undefined, decision).action,
    unsafe: unsafeToAsk(decision.update, decision.serviceUpdates),
    changes: tenant?.kind === "desired" && confirmed ? changedFields(confirmed, tenant.group) : null,
  };
}
