// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is what the config file has
import { describe, expect, it } from "vitest";
import type { Config } from "../../src/config/config.ts";
import { load, problemsOf, withKeys } from "./config-file.ts";

describe("a config that is right", () => {
  // config.example.yaml has all other defaults, see example.test.ts.
  it("is completed with a token table in the source's database", () => {
    const { service, source, tokens, ledger } = load(withKeys({}));
    expect(service.base_url).toBe("https://dash.example.com");
    const table = { store: "table", table: "groupsync_tokens", rows: "own" };
    const columns = { id_column: "user_group_id", token_column: "token" };
    expect(tokens).toEqual([{ ...table, ...columns, url: source.url }]);
    expect(ledger.url).toBe(source.url);
  });

  // example.test.ts has more of them.
  it("has values in the units and words of the program", () => {
    const config = load(
      withKeys({
        service: { timeout: "500ms" },
        ledger: { url: "postgres://l@localhost/ops", table_prefix: "ops.gs_" },
        deletion: { limit: { count: 0, percent: 2.5 } },
        rotation: { max_age: "90d", window: "22:30-04:00", concurrency: 4 },
        timezone: "Europe/Berlin",
        http: { listen: "[::1]:9000", allowed_hosts: ["groupsync.internal"] },
        notify: { heartbeat: "http://beat:9/y", allow_http: true },
      }),
    );
    expect(config).toMatchObject({
      service: { timeout: 500 },
      ledger: { schema: "ops", tablePrefix: "gs_" },
      deletion: { limit: { count: 0, percent: 2.5 } },
      rotation: { window: { from: 1350, to: 240, timeZone: "Europe/Berlin" }, concurrency: 4 },
      http: { listen: { host: "::1", port: 9000 }, allowed_hosts: ["groupsync.internal"] },
    });
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

  it.each<[object, string]>([
    [{ source: { table: undefined, query: "SELECT 1", where: "x" } }, "source.where: goes only"],
    [
      { source: { removed_when: " " }, deletion: { when: "flagged" } },
      "source.removed_when: is not a condition",
    ],
    [{ source: { table: undefined } }, "source.table: is missing; name the table or view"],
    [{ rotation: { window: "02:00-05:00" } }, "rotation.window: goes only with max_age"],
    [{ rotation: { max_per_run: 9 } }, "rotation.max_per_run: goes only with max_age"],
    [
      { source: { url: "mysql://localhost/shop", row_security: "error" } },
      "source.row_security: is about the policies of PostgreSQL",
    ],
    [
      { group: { mapping: { SCHEMA_ID: "data_source_id" } } },
      "group.mapping.SCHEMA_ID: stands for the id of one of the service's schemas; write that id in its place",
    ],
    [{ nonsense: 1 }, "nonsense: unknown key; the keys here are name, service, "],
    [
      { rotation: "90d" },
      "rotation: is not a section; put its keys below it, each with a space after its colon: max_age, window,",
    ],
  ])("names what is wrong with %j", (keys, problem) => {
    expect(problemsOf(withKeys(keys))).toContain(`1 problem:\n  line 1  ${problem}`);
  });
});

describe("source.changes", () => {
  const loaded = (changes: unknown): Config["source"]["changes"] =>
    load(withKeys({ source: { changes } })).source.changes;

  it.each([[undefined], [null], [{}]])("is off if it is %j", (changes) => {
    expect(loaded(changes)).toEqual({ every: 1_000 });
  });

  it("may have a column, a channel and a url to listen at", () => {
    const direct = "postgres://app:pw@localhost:5433/crm";
    const { url, ...others } = loaded({
      column: "changed",
      every: "100ms",
      channel: "changed",
      url: direct,
    });
    expect(others).toEqual({ column: "changed", every: 100, channel: "changed" });
    expect(url?.url.reveal()).toBe(direct);
  });

  const MYSQL = "mysql://localhost/crm";
  it.each<[object, string]>([
    [{ url: MYSQL, changes: { channel: "changed" } }, "channel: is a channel of PostgreSQL, and source.url"],
    [{ changes: { channel: "Customers" } }, "channel: is not the name of a channel; write small letters"],
    [{ changes: { column: "changed", url: "postgres://localhost/crm" } }, "url: goes only with channel"],
    [{ changes: { channel: "changed", url: MYSQL } }, "url: leads to MySQL"],
    [{ changes: { column: "changed", every: "99ms" } }, "every: is not a duration from 100ms to 1h"],
    [{ changes: { column: "changed", every: "61m" } }, "every: is not a duration from 100ms to 1h"],
    [{ changes: { colum: "changed" } }, 'colum: unknown key; did you mean "column"?'],
  ])("refuses %j", (source, problem) => {
    expect(problemsOf(withKeys({ source }))).toContain(`1 problem:\n  line 1  source.changes.${problem}`);
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
