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
const START = Date.now();
const hoursAgo = (hours: number): Date => new Date(START - hours * HOUR);
const settings = syncSettings();

/** When a group was last changed or rotated, in hours before now. */
const CHANGED: Readonly<Record<string, number>> = {
  lately: 1,
  "long ago": 900,
  "a while ago": 30,
  once: 900,
};
const IN_ORDER = ["long ago", "once", "a while ago", "lately"];

test.each([9, 10])(
  "the groups of a ledger of version %i are asked for in order, and none loses its token",
  async (version) => {
    const { database, insert } = await anOldLedger(version);
    const scope = "default";
    const service = new ServiceState();
    const store = new TokenState();
    const records = tenants(...Object.keys(CHANGED));
    for (const record of records) {
      const id = String(record.id);
      const tenant = desiredTenant(settings.rules, record);
      const { token } = service.put(tenant.group);
      store.tokens.set(id, token);
      await insert("groups", {
        ...groupAtRest(scope, tenant, token),
        token_since: hoursAgo(999),
        created_at: hoursAgo(999),
        updated_at: hoursAgo(CHANGED[id] ?? 0),
      });
    }
    const times = { created_at: hoursAgo(2), updated_at: hoursAgo(2) };
    await insert("groups", {
      scope,
      user_group_id: "begun",
      bucket: 7,
      intent: "apply",
      intent_at: hoursAgo(2),
      ...times,
    });
    await insert("services", { scope, base_url: settings.baseUrl, team_id: service.teamId, updates: false });
    await insert("token_places", { scope, places: JSON.stringify(settings.tokenDestinations) });
    const history = { healthy_ms: HOUR, healthy_reads: 2, healthy_at: hoursAgo(1) };
    await insert("evidence", { scope, source: settings.source, ...history, approvals: 0 });

    const ledger = database.ledger();
    await ledger.prepare();
    const attempt = await ledger.acquireLease("me", 60_000);
    if (attempt.kind !== "acquired") throw new Error("the lease should be free");
    await ledger.migrate(attempt.lease);
    await ledger.releaseLease(attempt.lease);
    const due = await ledger.refreshable({ since: new Date(START), now: new Date(START), limit: 9 });
    expect(due.map(({ user_group_id, verifiedAt }) => [user_group_id, verifiedAt])).toEqual(
      IN_ORDER.map((id) => [id, hoursAgo(CHANGED[id] ?? 0)]),
    );
    expect((await ledger.record("begun")).group?.lastAsked).toBeNull();

    // Somebody else has given one of the groups another token.
    const before = new Map(service.tokens);
    Object.assign(service.groups.get("once") ?? {}, { token: "ugt_new" });
    const { step } = new Instance();
    const begun = tenants("begun");
    const report = await sync(
      {
        source: new InMemoryTenantSource([...records, ...begun], step),
        service: new InMemoryGroupService(service, async () => {}),
        tokens: new InMemoryTokenStore(store, step),
        ledger,
        clock: hostClock,
        openSpool,
        observe: () => {},
        durability: { broken: 0, risks: async () => [] },
        recent: new RecentCommits(hostClock),
      },
      { ...settings, concurrency: 1 },
      { refresh: true },
      new AbortController().signal,
    );
    expect(report.error).toBeUndefined();
    expect(report).toMatchObject({
      outcome: "ok",
      counts: { refreshed: 4, created: 1, drift: { token: 1, gone: 0, name: 0 } },
    });
    expect(service.requests.map(({ operation, id }) => `${operation} ${id}`)).toEqual(
      ["begun", ...IN_ORDER].map((id) => `GET ${id}`),
    );
    expect(store.tokens).toEqual(service.tokens);
    for (const [id, token] of before) if (id !== "once") expect(store.tokens.get(id)).toBe(token);
  },
);
