import { SyncError } from "../../../src/core/failure/sync-error.ts";
import { Unusable } from "../../../src/core/group/tenant.ts";
import type { Lookup } from "../../../src/daemon/status-page/page-lookups.ts";
import { tenantPage } from "../../../src/daemon/status-page/tenant-page.ts";
import { anExplanation, aRecordedGroup, NO_RECORDED_FAILURES } from "../../builders/explained.ts";
import { aChangeFailure, aDesiredTenant, aRejectedTenant, aRow } from "../../builders/groups.ts";
import { aHealthyDaemon, daysAgo, minutesAgo, NOW } from "../a-healthy-daemon.ts";

const FINGERPRINT = "8pY9m6yT1ycLkWc0o1rU2c8pXn1m0nQk3b7cJ0o1x2E";
const failure = {
  ...aChangeFailure({
    message: 'the service still calls it "Alderbrook Logistics"',
    retryAt: minutesAgo(-12),
  }),
  since: minutesAgo(190),
};
const history = {
  group: aRecordedGroup({
    createdAt: daysAgo(90),
    changedAt: minutesAgo(3),
    tokenFingerprint: FINGERPRINT,
    tokenSince: daysAgo(19),
    unverified: "updated",
    failures: { ...NO_RECORDED_FAILURES, change: failure },
  }),
  removals: [{ kind: "replace", at: daysAgo(19) }],
  formerTokens: [{ fingerprint: FINGERPRINT.toLowerCase(), since: daysAgo(90), until: daysAgo(19) }],
} as const;

const LOOKUPS: Readonly<Record<string, readonly [id: string, lookup: Lookup]>> = {
  failing: [
    "acme",
    anExplanation({
      now: NOW,
      isTokenTooOld: true,
      tenant: aDesiredTenant({ name: "Alderbrook Freight", properties: {} }),
      ...history,
      failures: [
        new SyncError("KEY_REFUSED", "the service refuses the API key", { hint: "check service.api_key" }),
      ],
    }),
  ],
  odd: [
    `شركة-الأمل-${"x".repeat(300)}`,
    anExplanation({
      now: NOW,
      tokenDestinations: [`directory /${"very-long-".repeat(30)}`],
      user_group_id: `شركة-الأمل-${"x".repeat(300)}`,
      columns: ["id", "c".repeat(200), "שם"],
      rows: [
        {
          cells: ["a", new Unusable("holds bytes"), "שלום <b>"],
          digest: aRow(),
          removed: false,
          notReady: false,
        },
        { cells: ["a", "v".repeat(190), null], digest: aRow(), removed: false, notReady: false },
      ],
      tenant: aRejectedTenant({ code: "ID_DUPLICATE", message: "2 rows have this id" }),
      ...history,
      rejectedSince: daysAgo(3),
    }),
  ],
  found: [
    "alderbrook",
    Array.from({ length: 11 }, (_, index) => ({
      user_group_id: index === 1 ? `شركة-الأمل-${"x".repeat(300)}` : `cus-${1042 + index}`,
      name: index === 2 ? null : `Alderbrook Logistics ${"and Sons ".repeat(index * 3)}`,
      state: index === 3 ? "failing change, wanted" : "in sync",
    })),
  ],
  failed: ["acme", new SyncError("LOOKUP_TOO_SLOW", "the lookup was given up", { hint: "try again" })],
};

/** Tenants' pages that have to look well, by what they show. */
export const TENANT_PAGES: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(LOOKUPS).map(([name, [id, lookup]]) => [
    `tenant ${name}`,
    tenantPage(id, lookup, aHealthyDaemon({ timezone: "Europe/Berlin" }), NOW),
  ]),
);
