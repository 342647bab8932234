import { describe, expect, test } from "vitest";
import { explainJson, explainText } from "../../../src/commands/output/explain.ts";
import { SyncError } from "../../../src/core/failure/sync-error.ts";
import { UNKNOWN_STATE } from "../../../src/core/group/ledger-group.ts";
import { Unusable } from "../../../src/core/group/tenant.ts";
import { DEFAULT_CONFIG } from "../../../src/core/text/printable.ts";
import { anExplanation, aRecordedGroup, NO_RECORDED_FAILURES } from "../../builders/explained.ts";
import { aDesiredTenant, anAbsence, aRejectedTenant, aRow } from "../../builders/groups.ts";

const at = (day: number): Date => new Date(Date.UTC(2026, 1, day));

const DUE = anAbsence({ at: { ms: -100 * 3_600_000, reads: 1 } });

const text = (overrides: Parameters<typeof anExplanation>[0] = {}): string =>
  explainText(anExplanation(overrides), DEFAULT_CONFIG, false);

test("the command that helps names the config file, unless it is the default one", () => {
  const explanation = anExplanation({ tenant: aDesiredTenant({ name: "New" }) });
  const page = explainText(explanation, "/etc/my config.yaml", false);
  expect(page).toContain("What helps: groupsync --config '/etc/my config.yaml' sync --only acme\n");
  const held = anExplanation({ tenant: undefined, group: aRecordedGroup({ absence: DUE, held: "delete" }) });
  expect(explainText(held, "/etc/my config.yaml", false)).toContain(
    "\n  groupsync --config '/etc/my config.yaml' plan says why, and what else is held",
  );
});

describe("the page of a tenant", () => {
  test("has everything, and marks what differs from what the service confirmed", () => {
    const failure = { code: "REFUSED", message: "no\u001b", count: 2, since: at(5), retryAt: at(6) };
    const page = text({
      tenant: aDesiredTenant({ name: "New", properties: {} }),
      group: aRecordedGroup({
        unverified: "updated",
        failures: { ...NO_RECORDED_FAILURES, rotation: failure },
      }),
      removals: [{ kind: "replace", at: at(3) }],
      formerTokens: [{ fingerprint: "old-hash", since: null, until: at(3) }],
    });
    expect(page).toBe(`\
acme: changed
  its row has changed; the next sync updates its group
  What helps: groupsync sync --only acme

What is known
  row                    in public.customers
  row.id                 "acme"
  row.name               "Acme"
  group.name             "New"; the service confirmed "Acme"
  group.mapping.40       "warehouse-7"
  group.properties.plan  (none); the service confirmed "gold"
  group                  unverified: no answer shows whether the service took mapping and properties
  last asked for         2026-02-03T12:00:00.000Z
  failed rotation        REFUSED (2 in a row since 2026-02-05T00:00:00.000Z, next try after 2026-02-06T00:00:00.000Z): no\\u001b
  token                  hash the-hash
  token since            2026-02-03T00:00:00.000Z, for 24 h 0 min
  token goes to          table postgres://db/crm groupsync_tokens
  token stored           yes
  first recorded         2026-02-01T00:00:00.000Z
  last change            2026-02-02T00:00:00.000Z
  replaced               2026-02-03T00:00:00.000Z
  former token           2026-02-03T00:00:00.000Z: end of old-hash, live since an unknown time
`);
  });

  test("shows each of several rows, and a value that can't be used", () => {
    const cells = ["acme", new Unusable("holds bytes")];
    const row = { cells, digest: aRow(), removed: false, notReady: false };
    const tenant = aRejectedTenant({ code: "ID_DUPLICATE" });
    const page = text({ rows: [row, row], tenant, group: null, rejectedSince: at(2) });
    expect(page).toContain("  make the id unique in the source\n  Then: groupsync sync --only acme\n");
    expect(page).toMatch(/^ {2}rejected +since 2026-02-02T00:00:00.000Z$/m);
    expect(page).toMatch(/^ {2}row +1 of 2 in public.customers$/m);
    expect(page).toMatch(/^ {2}row +2 of 2 in public.customers$/m);
    expect(page).toMatch(/^ {2}row.name +\(holds bytes\)$/m);
  });

  test("says what can't be told", () => {
    const unknown = aRecordedGroup({ fingerprint: UNKNOWN_STATE, confirmed: null, serviceName: "Old" });
    expect(text({ group: unknown })).toContain("nobody knows in which state");
    const other = aRecordedGroup({ serviceName: "Old" });
    expect(text({ group: other })).toContain('  the service last gave back the name "Old"\n');
    expect(text({ rows: [], tenant: undefined })).toContain("  none in public.customers\n");
    const error = new SyncError("TOKEN_STORE_UNAVAILABLE", "no such directory");
    expect(text({ copies: { kind: "unreadable", error } })).toMatch(
      /^ {2}token stored +nobody can see whether .*: TOKEN_STORE_UNAVAILABLE: no such directory$/m,
    );
    const neverAsked = { group: aRecordedGroup({ verifiedAt: null }) };
    expect(text(neverAsked)).not.toContain("last asked");
  });

  test("has what is open", () => {
    const open = { intent: "delete", held: "delete", absence: anAbsence(), intentAt: at(1) } as const;
    const page = text({ tenant: undefined, group: aRecordedGroup(open), approval: "c0de" });
    expect(page).toMatch(
      /^ {2}under way +delete since 2026-02-01T00:00:00.000Z\n {2}held +delete, code c0de\n {2}missing +its tenant is gone, since/m,
    );
  });

  test("says that the token is too old, and why a sync would fail", () => {
    const failures = [new SyncError("SERVICE_CHANGED", "another service", { hint: "look" })];
    const page = text({ isTokenTooOld: true, failures });
    expect(page).toContain("for 24 h 0 min; older than rotation.max_age\n");
    expect(page).toContain("\n\nA sync would fail: another service\n  look\n");
    expect(JSON.parse(explainJson(anExplanation({ isTokenTooOld: true, failures })))).toMatchObject({
      token: { rotation_due: true, age_ms: 86_400_000 },
      failures_of_sync: [{ code: "SERVICE_CHANGED", message: "another service", hint: "look" }],
    });
  });
});
