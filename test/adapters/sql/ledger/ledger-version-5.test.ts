import { expect, test } from "vitest";
import { hostClock } from "../../../../src/adapters/host/clock.ts";
import { RecentCommits } from "../../../../src/engine/durability/recent-commits.ts";
import { sync } from "../../../../src/engine/sync.ts";
import { Instance } from "../../../fakes/instance.ts";
import { InMemoryGroupService, ServiceState } from "../../../fakes/service.ts";
import { openSpool } from "../../../fakes/spool.ts";
import { InMemoryTenantSource } from "../../../fakes/tenant-source.ts";
import { InMemoryTokenStore, TokenState } from "../../../fakes/token-store.ts";
import { syncSettings, tenants } from "../../../fakes/world.ts";
import { anOldLedger, desiredTenant, groupAtRest } from "./old-ledger.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const START = Date.now();
const hoursAgo = (hours: number): Date => new Date(START - hours * HOUR);
const SOON = new Date(START + HOUR);
const settings = syncSettings({
  deletion: { when: "absent", gracePeriodMs: 30 * DAY, limit: { count: 0, percent: 0 } },
  rotation: { maxAgeMs: 90 * DAY, window: null, maxPerRun: null, concurrency: 1 },
});

const failure = (fingerprint: string, retryAt: Date, count = 4) => ({
  failure_fingerprint: fingerprint,
  failure_code: "REFUSED",
  failure_message: "it said no",
  failure_count: count,
  retry_at: retryAt,
  failing_since: hoursAgo(9),
});
const MISSING = { missing_kind: "absent", missing_since: hoursAgo(5), missing_ms: 0, missing_reads: 1 };
const OLD_TOKEN = { token_since: hoursAgo(24 * 100) };
const OLD_STATE = { fingerprint: "of an older row", row_digest: "1" };

interface State {
  /** What the ledger of version 5 has in place of a group at rest. `f` is the fingerprint of the row's group. */
  readonly columns?: (f: string) => object;
  /** The requests of the sync after the migration. */
  readonly requests: readonly string[];
  readonly isGone?: boolean;
  readonly isUnmade?: boolean;
  /** The service has a token that the ledger doesn't know. */
  readonly isRotated?: boolean;
  readonly isNotStored?: boolean;
}

const UNMADE = {
  fingerprint: null,
  row_digest: null,
  confirmed: null,
  token_fingerprint: null,
  token_since: null,
};
const STATES: Readonly<Record<string, State>> = {
  "at rest": { requests: [] },
  "create under way": {
    isUnmade: true,
    columns: (f) => ({ ...UNMADE, intent: "apply", intent_fingerprint: f, intent_at: hoursAgo(1) }),
    requests: ["GET"],
  },
  "update under way": {
    columns: (f) => ({ ...OLD_STATE, intent: "apply", intent_fingerprint: f, intent_at: hoursAgo(1) }),
    requests: ["GET"],
  },
  "update failed, due": { columns: (f) => ({ ...OLD_STATE, ...failure(f, hoursAgo(1)) }), requests: ["GET"] },
  "update failed, waits": { columns: (f) => ({ ...OLD_STATE, ...failure(f, SOON) }), requests: [] },
  "token lost, due": {
    columns: () => failure("not_everywhere", hoursAgo(1)),
    isNotStored: true,
    requests: ["GET"],
  },
  "token lost, waits": { columns: () => failure("not_everywhere", SOON), isNotStored: true, requests: [] },
  missing: { columns: () => MISSING, isGone: true, requests: [] },
  held: { columns: () => ({ ...MISSING, held: "delete" }), isGone: true, requests: [] },
  "delete under way": {
    columns: () => ({ ...MISSING, intent: "delete", intent_at: hoursAgo(1) }),
    isGone: true,
    requests: ["DELETE"],
  },
  rotating: {
    columns: () => ({ intent: "rotate", intent_at: hoursAgo(1) }),
    isRotated: true,
    requests: ["GET"],
  },
  "rotation due": { columns: () => OLD_TOKEN, requests: ["POST"] },
  "rotation failed, due": {
    columns: () => ({ ...OLD_TOKEN, ...failure("rotated", hoursAgo(1)) }),
    requests: ["POST"],
  },
  "rotation failed, waits": { columns: () => ({ ...OLD_TOKEN, ...failure("rotated", SOON) }), requests: [] },
};

test("a sync after the migration from version 5 does with every state what one before would have done", async () => {
  const ids = Object.keys(STATES);
  const { database, insert } = await anOldLedger(5);
  const scope = "default";
  const service = new ServiceState();
  service.existing = "update";
  const store = new TokenState();
  const records = tenants(...ids);
  for (const record of records) {
    const id = String(record.id);
    const state = STATES[id];
    if (state === undefined) throw new Error(id);
    const tenant = desiredTenant(settings.rules, record);
    const token = state.isUnmade ? "" : service.put(tenant.group).token;
    if (!state.isUnmade && !state.isNotStored) store.tokens.set(id, token);
    if (state.isRotated) service.groups.set(id, { group: tenant.group, token: "ugt_new" });
    await insert("groups", {
      ...groupAtRest(scope, tenant, token),
      token_since: hoursAgo(24),
      created_at: hoursAgo(24),
      updated_at: hoursAgo(2),
      ...state.columns?.(tenant.fingerprint),
    });
  }
  await insert("services", { scope, base_url: settings.baseUrl, team_id: service.teamId, updates: true });
  await insert("token_places", { scope, places: JSON.stringify(settings.tokenDestinations) });
  const history = { healthy_ms: HOUR, healthy_reads: 2, healthy_at: hoursAgo(1) };
  await insert("evidence", { scope, source: settings.source, ...history, holding: true, approvals: 0 });

  const { step } = new Instance();
  const ledger = database.ledger();
  const report = await sync(
    {
      source: new InMemoryTenantSource(
        records.filter(({ id }) => !STATES[String(id)]?.isGone),
        step,
      ),
      service: new InMemoryGroupService(service, async () => {}),
      tokens: new InMemoryTokenStore(store, step),
      ledger,
      clock: hostClock,
      openSpool,
      observe: () => {},
      durability: { broken: 0, risks: async () => [] },
      recent: new RecentCommits(hostClock),
    },
    settings,
    {},
    new AbortController().signal,
  );
  expect(report.error).toBeUndefined();
  const requestsOf = (id: string) => service.requests.filter((each) => each.id === id);
  expect(Object.fromEntries(ids.map((id) => [id, requestsOf(id).map(({ operation }) => operation)]))).toEqual(
    Object.fromEntries(ids.map((id) => [id, STATES[id]?.requests])),
  );
  expect(report.outcome).toBe("held");
  expect(report.errors.flatMap(({ user_group_id }) => user_group_id ?? []).sort()).toEqual([
    "rotation failed, waits",
    "token lost, waits",
    "update failed, waits",
  ]);
  const { groups, held, failing } = await ledger.status();
  expect(groups).toMatchObject({ total: ids.length - 1, under_way: 0, failing: 3, missing: 2 });
  expect(held?.groups).toEqual([{ kind: "delete", user_group_id: "held" }]);
  for (const group of failing)
    expect(group).toMatchObject({ code: "REFUSED", count: 4, since: hoursAgo(9), retryAt: SOON });
  store.tokens.delete("token lost, waits");
  service.groups.delete("token lost, waits");
  expect(store.tokens).toEqual(service.tokens);
});
