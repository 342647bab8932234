import { describe, expect, it } from "vitest";
import { load, problemsOf, withKeys } from "../config-file.ts";

describe("a config that is right", () => {
  it("is completed with the defaults", () => {
    const { service, source, ...rest } = load(withKeys({}));
    expect(service).toEqual({
      baseUrl: "https://dash.example.com",
      apiKey: service.apiKey,
      timeoutMs: 15_000,
      concurrency: 8,
      update: "upsert",
    });
    expect(service.apiKey.reveal()).toBe("k3y");
    expect(source.url.url.reveal()).toBe("postgres://app:pw@localhost/crm");
    const empty = { kind: "keys", keys: {} };
    expect(rest).toEqual({
      name: "default",
      group: {
        id: "id",
        name: { kind: "column", column: "company_name", optional: false },
        mapping: empty,
        properties: empty,
      },
      tokens: [
        {
          store: "table",
          url: source.url,
          table: "groupsync_tokens",
          rows: "own",
          idColumn: "user_group_id",
          tokenColumn: "token",
        },
      ],
      ledger: { url: source.url, tablePrefix: "groupsync_", owners: [] },
      deletion: { when: "absent", gracePeriodMs: 86_400_000, limit: { count: 3, percent: 10 } },
      rotation: { maxAgeMs: null, window: null, maxPerRun: null, concurrency: 1 },
      schedule: { line: "*/5 * * * *", timezone: "UTC", jitterMs: 0, runAtStart: true },
      shutdownTimeoutMs: 25_000,
      historyMs: 7_776_000_000,
      http: {},
      notify: {},
    });
  });

  it("has the value of every key", () => {
    const config = load(
      withKeys({
        name: "eu",
        service: { timeout: "500ms", concurrency: 16, rate_limit: "170/min", update: "replace" },
        source: { table: 'app."Customers"', where: "plan <> 'demo'", removed_when: "deleted_at IS NOT NULL" },
        group: { data_source_provided_id: "source_id" },
        tokens: {
          url: "mysql://t@localhost/tokens",
          table: "customers",
          rows: "existing",
          id_column: "id",
          token_column: "tok",
        },
        ledger: { url: "postgres://l@localhost/ops", table_prefix: "ops.gs_" },
        deletion: { when: "flagged", grace_period: "90d", limit: { count: 0, percent: 2.5 } },
        rotation: { max_age: "90d", window: "22:30-04:00", max_per_run: 50, concurrency: 4 },
        schedule: "0 3 * * MON",
        timezone: "Europe/Berlin",
        jitter: "30s",
        run_at_start: false,
        shutdown_timeout: "50s",
        history: "7d",
        http: { listen: "[::1]:9000", allowed_hosts: ["groupsync.internal"], stale_after: "15m" },
        notify: { webhook: "https://hooks.example.com/x", heartbeat: "http://beat:9/y", allow_http: true },
      }),
    );
    expect(config).toMatchObject({
      name: "eu",
      service: {
        timeoutMs: 500,
        concurrency: 16,
        rateLimit: { count: 170, perMs: 60_000 },
        update: "replace",
      },
      source: {
        table: 'app."Customers"',
        where: "plan <> 'demo'",
        removedWhen: "deleted_at IS NOT NULL",
      },
      group: { dataSourceId: { kind: "column", column: "source_id", optional: false } },
      tokens: [
        {
          url: { dialect: "mysql" },
          table: "customers",
          rows: "existing",
          idColumn: "id",
          tokenColumn: "tok",
        },
      ],
      ledger: { url: { dialect: "postgres" }, schema: "ops", tablePrefix: "gs_", owners: [] },
      deletion: { when: "flagged", gracePeriodMs: 7_776_000_000, limit: { count: 0, percent: 2.5 } },
      rotation: {
        maxAgeMs: 7_776_000_000,
        window: { from: 1350, to: 240, timeZone: "Europe/Berlin" },
        maxPerRun: 50,
        concurrency: 4,
      },
      schedule: { line: "0 3 * * MON", timezone: "Europe/Berlin", jitterMs: 30_000, runAtStart: false },
      shutdownTimeoutMs: 50_000,
      historyMs: 604_800_000,
      http: {
        listen: { host: "::1", port: 9000 },
        allowedHosts: ["groupsync.internal"],
        staleAfterMs: 900_000,
      },
    });
    expect(config.notify.webhook?.reveal()).toBe("https://hooks.example.com/x");
    expect(config.notify.heartbeat?.reveal()).toBe("http://beat:9/y");
    expect(config.ledger.url.url.reveal()).toBe("postgres://l@localhost/ops");
  });

  it("may name a channel that gets the ids of new tokens", () => {
    expect(load(withKeys({ tokens: { notify: "groupsync_tokens" } })).tokens).toMatchObject([
      { notify: "groupsync_tokens" },
    ]);
  });

  it("may have removed_when and ready_when beside a query, for every value of deletion.when", () => {
    const removed = { table: undefined, query: "SELECT 1", removed_when: " gone\n", ready_when: " ready\n" };
    for (const when of ["absent", "flagged", "never"]) {
      const { source, deletion } = load(withKeys({ source: removed, deletion: { when } }));
      expect(source).toMatchObject({ removedWhen: "gone", readyWhen: "ready" });
      expect(deletion.when).toBe(when);
    }
  });
});

describe("a config with problems", () => {
  it("names every required key of an empty file", () => {
    const missing = problemsOf("# nothing yet").match(/\S+(?=: is missing)/g);
    expect(missing).toEqual([
      "service.base_url",
      "service.api_key",
      "source.url",
      "source.table",
      "group.id",
      "group.name",
    ]);
  });

  it.each<[string, object, string]>([
    [
      "where without table",
      { source: { table: undefined, query: "SELECT 1", where: "x" } },
      "source.where: goes only",
    ],
    [
      "an empty removed_when",
      { source: { removed_when: " " }, deletion: { when: "flagged" } },
      'source.removed_when: " " is not a condition',
    ],
    [
      "no table and no query",
      { source: { table: undefined } },
      "source.table: is missing; name the table or view",
    ],
    [
      "window without max_age",
      { rotation: { window: "02:00-05:00" } },
      "rotation.window: goes only with max_age",
    ],
    [
      "max_per_run without max_age",
      { rotation: { max_per_run: 9 } },
      "rotation.max_per_run: goes only with max_age",
    ],
    [
      "row_security on MySQL",
      { source: { url: "mysql://localhost/shop", row_security: "error" } },
      "source.row_security: is about the policies of PostgreSQL",
    ],
    [
      "a schema id that was never filled in",
      { group: { mapping: { SCHEMA_ID: "data_source_id" } } },
      "group.mapping.SCHEMA_ID: stands for the id of one of the service's schemas; write that id in its place",
    ],
  ])("names %s", (_, keys, problem) => {
    expect(problemsOf(withKeys(keys))).toContain(`1 problem:\n  line 1  ${problem}`);
  });
});
