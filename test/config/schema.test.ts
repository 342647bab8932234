// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is what the config file has
import { describe, expect, it } from "vitest";
import type { Config } from "../../src/config/config.ts";
import { load, problemsOf, withKeys } from "./config-file.ts";

describe("a config that is right", () => {
  it("is completed with the defaults", () => {
    const { service, source, ...rest } = load(withKeys({}));
    expect(service).toEqual({
      base_url: "https://dash.example.com",
      allow_http: false,
      api_key: service.api_key,
      timeout: 15_000,
      concurrency: 8,
      update: "upsert",
    });
    expect(service.api_key.reveal()).toBe("k3y");
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
          id_column: "user_group_id",
          token_column: "token",
        },
      ],
      ledger: { url: source.url, tablePrefix: "groupsync_", owners: [] },
      deletion: { when: "absent", gracePeriodMs: 86_400_000, limit: { count: 3, percent: 10 } },
      rotation: { maxAgeMs: null, window: null, maxPerRun: null, concurrency: 1 },
      schedule: "*/5 * * * *",
      timezone: "UTC",
      jitter: 0,
      run_at_start: true,
      shutdown_timeout: 25_000,
      history: 7_776_000_000,
      http: {},
      notify: { allow_http: false },
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
        timeout: 500,
        concurrency: 16,
        rate_limit: { count: 170, perMs: 60_000 },
        update: "replace",
      },
      source: {
        table: 'app."Customers"',
        where: "plan <> 'demo'",
        removed_when: "deleted_at IS NOT NULL",
      },
      group: { dataSourceId: { kind: "column", column: "source_id", optional: false } },
      tokens: [
        {
          url: { dialect: "mysql" },
          table: "customers",
          rows: "existing",
          id_column: "id",
          token_column: "tok",
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
      schedule: "0 3 * * MON",
      timezone: "Europe/Berlin",
      jitter: 30_000,
      run_at_start: false,
      shutdown_timeout: 50_000,
      history: 604_800_000,
      http: {
        listen: { host: "::1", port: 9000 },
        allowed_hosts: ["groupsync.internal"],
        stale_after: 900_000,
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
      expect(source).toMatchObject({ removed_when: "gone", ready_when: "ready" });
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
      "group.id",
      "group.name",
      "source.table",
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
      "source.removed_when: is not a condition",
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

const withChanges = (changes: unknown, source: object = {}): string =>
  withKeys({ source: { ...source, changes } });
const loaded = (changes: unknown, source?: object): Config["source"]["changes"] =>
  load(withChanges(changes, source)).source.changes;

describe("source.changes", () => {
  it.each([[undefined], [null], [{}]])("is off if it is %j", (changes) => {
    expect(loaded(changes)).toEqual({ every: 1_000 });
  });

  it("asks for the rows of a column every second, or as often as it says", () => {
    expect(loaded({ column: "updated_at" })).toEqual({ column: "updated_at", every: 1_000 });
    expect(loaded({ column: "updated_at", every: "100ms" })).toMatchObject({ every: 100 });
    expect(loaded({ column: "updated_at", every: "1h" })).toMatchObject({ every: 3_600_000 });
  });

  it("takes a column of MySQL", () => {
    expect(loaded({ column: "changed" }, { url: "mysql://localhost/crm" })).toMatchObject({
      column: "changed",
    });
  });

  it("may listen at a url of its own", () => {
    const direct = "postgres://app:pw@localhost:5433/crm";
    const { column, channel, url } = loaded({ column: "changed", channel: "changed", url: direct });
    expect([column, channel, url?.url.reveal()]).toEqual(["changed", "changed", direct]);
  });

  it.each<[string, object, string]>([
    [
      "a channel of MySQL",
      { url: "mysql://localhost/crm", changes: { channel: "changed" } },
      "source.changes.channel: is a channel of PostgreSQL, and source.url leads to MySQL",
    ],
    [
      "a channel that LISTEN would spell otherwise",
      { changes: { channel: "Customers" } },
      "source.changes.channel: is not the name of a channel; write small letters, digits and _, like customers_changed",
    ],
    [
      "a url without a channel",
      { changes: { column: "changed", url: "postgres://localhost/crm" } },
      "source.changes.url: goes only with channel",
    ],
    [
      "a url of MySQL",
      { changes: { channel: "changed", url: "mysql://localhost/crm" } },
      "source.changes.url: leads to MySQL",
    ],
    [
      "a period that is too short",
      { changes: { column: "changed", every: "99ms" } },
      "source.changes.every: is not a duration from 100ms to 1h",
    ],
    [
      "a period that is too long",
      { changes: { column: "changed", every: "61m" } },
      "source.changes.every: is not a duration from 100ms to 1h",
    ],
    [
      "a key that is unknown",
      { changes: { colum: "changed" } },
      'source.changes.colum: unknown key; did you mean "column"?',
    ],
  ])("refuses %s", (_, source, problem) => {
    expect(problemsOf(withKeys({ source }))).toContain(`1 problem:\n  line 1  ${problem}`);
  });
});

describe("http.sync_key", () => {
  const KEY = "0123456789abcdef";

  it("is a secret, and off if it is left out", () => {
    expect(load(withKeys({})).http.sync_key).toBeUndefined();
    const { sync_key: syncKey } = load(withKeys({ http: { sync_key: "${KEY}" } }), { KEY }).http;
    expect(syncKey?.reveal()).toBe(KEY);
    expect(JSON.stringify(syncKey)).not.toContain(KEY);
  });

  it.each([["short"], ["0123456789abcde"], ["a key with blanks in it"], ["schlüssel-0123456789"]])(
    "refuses the key %j and doesn't show it",
    (key) => {
      const problems = problemsOf(withKeys({ http: { sync_key: key } }));
      expect(problems).toContain("http.sync_key: is not a key of at least 16 characters");
      expect(problems).not.toContain(key);
    },
  );

  it("refuses a key if nothing listens", () => {
    expect(problemsOf(withKeys({ http: { listen: "off", sync_key: KEY } }))).toContain(
      "1 problem:\n  line 1  http.sync_key: is for requests to http.listen, which is off",
    );
  });
});
