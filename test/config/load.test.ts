// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is what the config file has
import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import type { Config } from "../../src/config/config.ts";
import { loadConfig } from "../../src/config/load.ts";
import { SyncError } from "../../src/core/errors.ts";

const MINIMAL = {
  service: { base_url: "https://dash.example.com/", api_key: "k3y" },
  source: { url: "postgres://app:pw@localhost/crm", table: "customers" },
  group: { id: "id", name: "company_name" },
};

/** JSON is YAML, so a test can give the keys that matter on top of the required ones. */
const withKeys = (keys: object): string => {
  const sections: Record<string, object> = { ...MINIMAL };
  for (const [key, value] of Object.entries(keys)) {
    const isSection = typeof value === "object" && value !== null;
    sections[key] = isSection ? { ...sections[key], ...value } : value;
  }
  return JSON.stringify(sections);
};

const load = (yaml: string, env: Record<string, string> = {}): Config =>
  loadConfig("config.yaml", {
    env,
    readFile: (path) => {
      if (path === "config.yaml") return yaml;
      throw Object.assign(new Error("gone"), { code: "ENOENT" });
    },
  });

function problemsOf(yaml: string, env: Record<string, string> = {}): string {
  try {
    load(yaml, env);
  } catch (error) {
    if (error instanceof SyncError && error.code === "CONFIG_INVALID") return error.message;
    throw error;
  }
  return "none";
}

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

  it("has every key where the code expects it", () => {
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

  it("may name a channel that hears of new tokens", () => {
    expect(load(withKeys({ tokens: { notify: "groupsync_tokens" } })).tokens).toMatchObject([
      { notify: "groupsync_tokens" },
    ]);
  });

  it("takes a query without the semicolon that would break it as a subquery", () => {
    const { source } = load(withKeys({ source: { table: undefined, query: "SELECT 1; \n" } }));
    expect(source).toEqual({ url: source.url, query: "SELECT 1" });
  });

  it("may say which rows are removed beside a query too, whatever deletion goes by", () => {
    const removed = { table: undefined, query: "SELECT 1", removed_when: " gone\n" };
    for (const when of ["absent", "flagged", "never"]) {
      const { source, deletion } = load(withKeys({ source: removed, deletion: { when } }));
      expect(source.removedWhen).toBe("gone");
      expect(deletion.when).toBe(when);
    }
  });

  it.each([
    ["0s", '"0s"'],
    ["0", '"0"'],
    ["a bare 0", "0"],
  ])("may do without a grace period: %s", (_, written) => {
    const yaml = withKeys({ deletion: { grace_period: "?" } }).replace('"?"', written);
    expect(load(yaml).deletion.gracePeriodMs).toBe(0);
  });

  it("may own the rows of a table that has the name of the source's in another database", () => {
    const { tokens } = load(withKeys({ tokens: { table: "customers", url: "postgres://localhost/tokens" } }));
    expect(tokens).toMatchObject([{ table: "customers", rows: "own" }]);
  });

  it("reads every form of a rule", () => {
    const { group } = load(
      withKeys({
        group: {
          name: { column: "label", default: 7 },
          mapping: {
            "40": "source",
            "41": "wh-{{ region }}",
            "42": { value: 17 },
            "43": { column: "extra", optional: true },
            "44": { template: "{{ region }}", optional: true },
          },
          data_source_provided_id: { column: "source", default: 8 },
          properties: {
            tier: { value: { gold: [1, null] } },
            none: { value: null },
            plan: { column: "plan", default: {} },
          },
        },
      }),
    );
    expect(group).toEqual({
      id: "id",
      name: { kind: "column", column: "label", optional: false, default: "7" },
      mapping: {
        kind: "keys",
        keys: {
          "40": { kind: "column", column: "source", optional: false },
          "41": { kind: "template", parts: ["wh-", { column: "region" }], optional: false },
          "42": { kind: "constant", value: "17" },
          "43": { kind: "column", column: "extra", optional: true },
          "44": { kind: "template", parts: [{ column: "region" }], optional: true },
        },
      },
      properties: {
        kind: "keys",
        keys: {
          tier: { kind: "constant", value: { gold: [1, null] } },
          none: { kind: "constant", value: null },
          plan: { kind: "column", column: "plan", optional: false, default: {} },
        },
      },
      dataSourceId: { kind: "column", column: "source", optional: false, default: "8" },
    });
  });

  it("may take a whole object from one JSON column", () => {
    const { mapping, properties } = load(
      withKeys({ group: { mapping: "sources", properties: "attributes" } }),
    ).group;
    expect(mapping).toEqual({ kind: "json", column: "sources" });
    expect(properties).toEqual({ kind: "json", column: "attributes" });
  });

  it("takes numbers and booleans out of the environment, and never a key", () => {
    const yaml = withKeys({
      service: { concurrency: "${N}" },
      deletion: { limit: { percent: "${P:-2.5}" } },
      group: { properties: { "${N}": { column: "x", optional: "${YES}" } } },
    });
    const config = load(yaml, { N: "4", YES: "true" });
    expect(config.service.concurrency).toBe(4);
    expect(config.deletion.limit.percent).toBe(2.5);
    expect(config.group.properties).toEqual({
      kind: "keys",
      keys: { "${N}": { kind: "column", column: "x", optional: true } },
    });
  });

  it.each([
    ["10.0", 10],
    ["1e1", 10],
    ["+3", 3],
    ["010", 10],
    ["0x0A", 10],
    ["0o12", 10],
    ["2.50", 2.5],
    [".5", 0.5],
    ["-0", -0],
  ])("takes the number %s for what it is in YAML", (written, value) => {
    const yaml = withKeys({ deletion: { limit: { percent: "here" } } }).replace('"here"', written);
    expect(load(yaml).deletion.limit.percent).toBe(value);
  });

  it.each(["10.0", "1e1", "+10", "010"])("takes the number %s out of the environment likewise", (N) => {
    const limit = { count: "${N}", percent: "${N}" };
    expect(load(withKeys({ deletion: { limit } }), { N }).deletion.limit).toEqual({ count: 10, percent: 10 });
  });

  it("may use anchors, merges and keys that are numbers", () => {
    const { group } = load(`
service: { base_url: https://dash.example.com, api_key: k3y }
source: { url: postgres://localhost/crm, table: customers }
group:
  id: id
  name: name
  mapping: &rules
    40: a
    041: &b { column: b }
    constructor: *b
  properties:
    <<: *rules
    40: mine
`);
    const column = (name: string) => ({ kind: "column", column: name, optional: false });
    expect(group.mapping).toEqual({
      kind: "keys",
      keys: { "40": column("a"), "041": column("b"), constructor: column("b") },
    });
    expect(group.properties).toEqual({
      kind: "keys",
      keys: { "40": column("mine"), "041": column("b"), constructor: column("b") },
    });
  });

  it("cannot be printed with its secrets", () => {
    const config = load(
      withKeys({
        service: { api_key: "s3cret-key" },
        source: { url: "postgres://app:s3cret-pw@localhost/crm" },
      }),
    );
    const printed = [
      JSON.stringify(config),
      inspect(config, { depth: 9, showHidden: true }),
      `${config.service.apiKey}`,
    ];
    expect(printed.join("\n")).not.toContain("s3cret");
  });
});

describe("a file that is no config", () => {
  const many = (count: number, line: (n: number) => string): string =>
    Array.from({ length: count }, (_, n) => line(n)).join("\n");
  const bomb = [
    "a0: &a0 [x]",
    ...Array.from({ length: 12 }, (_, n) => `a${n + 1}: &a${n + 1} [${`*a${n},`.repeat(9)}]`),
  ];

  it.each([
    ["a nest of aliases", bomb.join("\n"), "line 1  it has more than 50000 values, those behind aliases"],
    [
      "many aliases of much",
      `a: &a [${"x,".repeat(20_000)}]\nb: [${"*a,".repeat(50_000)}]`,
      "more than 50000 values",
    ],
    [
      "a nest of merges",
      `a0: &a0 { x: 1 }\n${many(30, (n) => `a${n + 1}: &a${n + 1} { <<: [*a${n}, *a${n}] }`)}`,
      "more than 50000 values",
    ],
    ["brackets without an end", "[".repeat(5_000), "line 1  "],
    ["a deep nest", `a: ${"[".repeat(2_000)}${"]".repeat(2_000)}`, "line 1  this is nested too deeply"],
    ["a deeper one", `a: ${"[".repeat(20_000)}${"]".repeat(20_000)}`, "line 1  this is nested too deeply"],
  ])("is refused at once: %s", (_, yaml, problem) => {
    const report = problemsOf(yaml);
    expect(report).toContain(problem);
    expect(report).toContain("config.yaml has 1 problem");
  });

  it("is refused with the first of its problems where it has very many", () => {
    const problems = problemsOf(many(10_000, (n) => `k${n}: 1`)).split("\n");
    expect(problems).toHaveLength(102);
    expect(problems[0]).toMatch(/^config\.yaml has 100\d\d problems:$/);
    expect(problems[101]).toMatch(/^ {2}… and 99\d\d more$/);
  });

  it("is refused unread where it is too large", () => {
    expect(() => load(many(1_000_000, (n) => `k${n}: 1`))).toThrow(
      "cannot read the config file: it is larger than 256 KiB",
    );
  });

  it("names a file that is too large for a secret", () => {
    const readFile = (path: string): string => {
      if (path === "config.yaml") return withKeys({ service: { api_key: "${file:/dev/zero}" } });
      throw Object.assign(new Error("EFBIG"), { code: "EFBIG" });
    };
    expect(() => loadConfig("config.yaml", { env: {}, readFile })).toThrow(
      "service.api_key: the file /dev/zero is larger than any secret; is it the right one?",
    );
  });
});

describe("a config with problems", () => {
  it("is reported as a whole, with lines, keys and remedies, and without a secret", () => {
    const yaml = `name: our daemon
service:
  base_url: https://admin:hunter2@dash.example.com
  api_key: Token hunter2
  timeout: 15
  concurency: 4
  concurrency: "\${N}"
  rate_limit: fast
  update: always
source:
  url: \${DATABASE_URL}
  table: a.b.c
  query: SELECT 1
group:
  id: "{{ region }}-{{ id }}"
  name: { column: label, optional: true }
  mapping:
    "40": 17
    40: b
    41: { column: c, optional: true, default: x }
    42: a-{{ b
    43: { value: [1] }
    44: { value: 007 }
    __proto__: x
  properties:
    tier: { vale: gold }
    region: {{ region }}
    logo:
tokens:
  rows: existing
  url: mysql://app:hunter2%@localhost/crm
  api_key:hunter2: x
  notify: New Tokens
ledger:
  table_prefix: groupsync-
deletion:
  grace_period: 1 day
  limit: { count: -1, percent: 101 }
rotation:
  max_age: quarterly
  window: 2-5
  max_per_run: 0
  concurrency: 101
schedule: "61 * * * *"
timezone: Mars/Base
`;
    expect(problemsOf(yaml, { N: "hunter2" })).toBe(`config.yaml has 40 problems:
  line 1   name: "our daemon" is not a name; write text of up to 64 letters, digits, dots, dashes and underscores
  line 3   service.base_url: the value is not the address of a service; write it like https://dashboards.example.com, without user, query or /api/user
  line 4   service.api_key: the value is not an API key; write \${GROUPSYNC_API_KEY}, and set it to the bare key, without the word Token
  line 5   service.timeout: 15 is not a duration up to 1h; write it like 15s
  line 6   service.concurency: unknown key; did you mean "concurrency"?
  line 7   service.concurrency: "\${N}" is not a whole number from 1 to 1000; the default is 8
  line 8   service.rate_limit: "fast" is not a rate; write it like 3/s, 170/min or 9000/h
  line 9   service.update: "always" is not possible here; write upsert or replace or never
  line 11  source.url: the environment variable DATABASE_URL is not set; set it, or give a default: \${DATABASE_URL:-…}
  line 12  source.table: "a.b.c" is not the name of a table; write it like customers, app.customers or app."Customers"
  line 13  source.query: cannot stand beside table; keep one of the two
  line 15  group.id: "{{ region }}-{{ id }}" is not a column name; write the name of one column; to compute an id, give it a name in source.query
  line 16  group.name.optional: is not possible: every group needs a name; remove it
  line 18  group.mapping.40: 17 is not a rule; write a column name, a template "{{ column }}-x", or { value: … } for a constant
  line 19  group.mapping.40: is already there on line 18; keep one of the two
  line 20  group.mapping.41.optional: means nothing beside default, which stands in for a null; keep one of the two
  line 21  group.mapping.42: "a-{{ b" is not a rule; write a column name, a template "{{ column }}-x", or { value: … } for a constant
  line 22  group.mapping.43.value: this is not text, a number, true or false; write one of these
  line 23  group.mapping.44.value: as a number this would not keep the form it is written in; put it in quotes
  line 24  group.mapping.__proto__: this name cannot be used; choose another
  line 26  group.properties.tier.vale: unknown key; did you mean "value"?
  line 26  group.properties.tier.column: is missing; write { column: … }, { template: … } or { value: … }
  line 27  group.properties.region: a key must be text; a template needs quotes: "{{ column }}"
  line 28  group.properties.logo: an empty value is not a rule; write a column name, a template "{{ column }}-x", or { value: … } for a constant
  line 29  tokens.table: is missing; with rows: existing, name the table of the tokens
  line 29  tokens.id_column: is missing; with rows: existing, name the id column of the tokens
  line 29  tokens.token_column: is missing; with rows: existing, name the token column of the tokens
  line 31  tokens.url: the value is not the url of a database; write it like postgres://user:password@host:5432/database or mysql://…, with %40 for an @, %2F for a / in the password
  line 32  tokens."api_key:…": unknown key; is a space missing after the colon?
  line 33  tokens.notify: "New Tokens" is not the name of a channel; write small letters, digits and _, like groupsync_tokens
  line 35  ledger.table_prefix: "groupsync-" is not a prefix for table names; write letters, digits and _, like groupsync_ or ops.groupsync_
  line 37  deletion.grace_period: "1 day" is not a duration; write it like 15s, 24h or 90d
  line 38  deletion.limit.count: -1 is not a whole number from 0 to 1000000; the default is 3
  line 38  deletion.limit.percent: 101 is not a number from 0 to 100; the default is 10
  line 40  rotation.max_age: "quarterly" is not a duration above zero; write it like 90d
  line 41  rotation.window: "2-5" is not a part of the day; write it like "02:00-05:00", by the clock of timezone
  line 42  rotation.max_per_run: 0 is not a whole number from 1 on; leave it out for no limit
  line 43  rotation.concurrency: 101 is not a whole number from 1 to 100; the default is 1
  line 44  schedule: "61 * * * *" is not a cron line (see its minute); write minute, hour, day, month and weekday: "*/5 * * * *"
  line 45  timezone: "Mars/Base" is not a time zone; write it like UTC or Europe/Berlin`);
  });

  it.each(["0 0 L-30 2 *", "0 0 31W 2 *"])("finds that a schedule has no tick: %s", (schedule) => {
    expect(problemsOf(withKeys({ schedule }))).toBe(`config.yaml has 1 problem:
  line 1  schedule: "${schedule}" names a day that never comes`);
  });

  it("asks for what is required in an empty file", () => {
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

  it("lists what is not YAML, and what it would have meant is not guessed at", () => {
    const yaml =
      "service:\n\ttimeout: 1\n\tupdate: @2\nsource: { url: ${DATABASE_URL} }\nschedule: x\n---\nname: x\n";
    expect(problemsOf(yaml)).toBe(`config.yaml has 4 problems:
  line 2  a tab is used as indentation; use spaces
  line 3  a tab is used as indentation; use spaces
  line 4  this is not YAML; put a value with braces in it in quotes: "\${NAME}", "{{ column }}"
  line 6  a second document starts here; a config is one document: remove the line ---`);
  });

  it.each([
    ["text", "hello", "the value is not a section"],
    ["an alias of nothing", "name: *hunter2", "name: an alias (*…) names no anchor above it"],
    [
      "an alias of itself",
      "source: &a { table: *a }",
      "source.table: an alias (*…) stands inside of its own anchor",
    ],
    ["a tag", "name: !hunter2 x", "name: a tag (!…) means nothing here"],
    [
      "a forgotten space",
      "service: {api_key:hunter2}",
      'service."api_key:…": unknown key; is a space missing',
    ],
    ["a merge of no map", "service:\n  <<: hunter2", 'service."<<": is not a map'],
    ["a rounded number", "name: 12345678901234567890", "name: as a number this would not keep the form"],
    ["a number in text's place", "name: 010", "name: 10 is not a name"],
    [
      "no number",
      "deletion:\n  limit: { percent: .inf }",
      "deletion.limit.percent: Infinity is not a number from",
    ],
    [
      "a number in a group that would become another text",
      "group:\n  mapping: { 40: { value: 1.0 } }",
      "group.mapping.40.value: as a number this would not keep the form",
    ],
    [
      "the same behind an alias",
      "x: &id 007\ngroup:\n  mapping: { 40: { value: *id } }",
      "group.mapping.40.value: as a number this would not keep the form",
    ],
  ])("names %s", (_, yaml, problem) => {
    expect(problemsOf(yaml)).toContain(`  line ${yaml.split("\n").length}  ${problem}`);
    expect(problemsOf(yaml)).not.toContain("hunter2");
  });

  it.each([
    [
      "an unknown key without a near one",
      { nonsense: 1 },
      "nonsense: unknown key; the keys here are name, service, ",
    ],
    [
      "where without table",
      { source: { table: undefined, query: "SELECT 1", where: "x" } },
      "source.where: goes only",
    ],
    [
      "flags that nothing tells",
      { deletion: { when: "flagged" } },
      "source.removed_when: is missing; with deletion.when: flagged, write the condition",
    ],
    [
      "a flag of nothing",
      { source: { removed_when: " " }, deletion: { when: "flagged" } },
      'source.removed_when: " " is not a condition',
    ],
    [
      "a data source that is JSON",
      { group: { data_source_provided_id: { value: {} } } },
      "group.data_source_provided_id.value: this is not text",
    ],
    [
      "own rows in the source, by its url",
      { tokens: { table: "customers", url: MINIMAL.source.url } },
      "tokens.table: is the table of the tenants",
    ],
    [
      "a query of nothing",
      { source: { table: undefined, query: " ;" } },
      'source.query: " ;" is not a query',
    ],
    [
      "no table and no query",
      { source: { table: undefined } },
      "source.table: is missing; name the table or view",
    ],
    ["a table of tables", { source: { table: "a.b.c" } }, 'source.table: "a.b.c" is not the name of a table'],
    [
      "own rows in the source",
      { tokens: { table: "customers" } },
      "tokens.table: is the table of the tenants",
    ],
    [
      "one column for two",
      { tokens: { id_column: "a", token_column: "a" } },
      "tokens.token_column: is the id_column",
    ],
    [
      "a schema on MySQL",
      { source: { url: "mysql://localhost/crm" }, ledger: { table_prefix: "ops.gs_" } },
      "ledger.table_prefix: has a schema, which MySQL has not",
    ],
    [
      "a computed id",
      { group: { id: { value: "x" } } },
      "group.id: this is not a column name; write the name of one",
    ],
    [
      "an optional template name",
      { group: { name: { template: "{{ a }}", optional: true } } },
      "group.name.optional: ",
    ],
    [
      "a template for a whole object",
      { group: { mapping: "{{ a }}" } },
      'group.mapping: "{{ a }}" is not a set',
    ],
    [
      "a default that is no scalar",
      { group: { name: { column: "a", default: {} } } },
      "group.name.default: this is not",
    ],
    [
      "a timeout of a day",
      { service: { timeout: "1d" } },
      'service.timeout: "1d" is not a duration up to 1h',
    ],
    [
      "a rotation all the time",
      { rotation: { max_age: "0s" } },
      'rotation.max_age: "0s" is not a duration above',
    ],
    [
      "a time to rotate without an age",
      { rotation: { window: "02:00-05:00" } },
      "rotation.window: goes only with max_age",
    ],
    ["a most of nothing", { rotation: { max_per_run: 9 } }, "rotation.max_per_run: goes only with max_age"],
    [
      "a section that is none",
      { rotation: "90d" },
      "rotation: the value is not a section; put its keys below it, each with a space after its colon: max_age, window,",
    ],
    [
      "a policy on MySQL",
      { source: { url: "mysql://localhost/shop", row_security: "error" } },
      "source.row_security: is about the policies of PostgreSQL",
    ],
    [
      "a channel on MySQL",
      { tokens: { url: "mysql://localhost/tokens", notify: "tokens" } },
      "tokens.notify: is a channel of PostgreSQL",
    ],
    [
      "an owner on MySQL",
      { tokens: { url: "mysql://localhost/tokens", owner: "app" } },
      "tokens.owner: is a role of PostgreSQL",
    ],
    [
      "a channel that LISTEN would not hear",
      { tokens: { notify: "Tokens" } },
      'tokens.notify: "Tokens" is not the name of a channel',
    ],
    ["a jitter that is too long", { jitter: "2h" }, 'jitter: "2h" is not a duration up to 1h'],
    ["no time to end in", { shutdown_timeout: "0s" }, 'shutdown_timeout: "0s" is not a duration up to 1h'],
    ["a history of nothing", { history: "5m" }, 'history: "5m" is not a duration of 1h or more'],
    ["neither yes nor no", { run_at_start: "maybe" }, 'run_at_start: "maybe" is not true or false'],
    ["a port that is none", { http: { listen: "127.0.0.1:99999" } }, 'http.listen: "127.0.0.1:99999" is not'],
    [
      "a port alone",
      { http: { listen: "8080" } },
      'http.listen: "8080" is not an address to listen on; write',
    ],
    [
      "a webhook that is none, without showing it",
      { notify: { webhook: "hooks.example.com/hunter2" } },
      "notify.webhook: the value is not the address of a web page",
    ],
    ["an empty value", { timezone: null }, "timezone: an empty value is not a time zone"],
    [
      "a misplaced url",
      { source: { table: "postgres://a:hunter2@b/c" } },
      "source.table: the value is not the name",
    ],
    [
      "an empty file",
      { service: { api_key: "${file:/gone}" } },
      "service.api_key: the file /gone cannot be read",
    ],
  ])("names %s", (_, keys, problem) => {
    expect(problemsOf(withKeys(keys))).toContain(`1 problem:\n  line 1  ${problem}`);
  });

  it("shows a secret as the file names it, and not at all where the file holds it", () => {
    const env = { KEY: "two hunter2", URL: "hunter2" };
    const named = problemsOf(withKeys({ service: { api_key: "${KEY}" }, source: { url: "${URL}" } }), env);
    expect(named).toContain('service.api_key: "${KEY}" is not an API key');
    expect(named).toContain('source.url: "${URL}" is not the url of a database');
    const held = problemsOf(
      withKeys({ service: { api_key: "two hunter2" }, source: { url: "${NO:-hunter2}" } }),
    );
    expect(held).toContain("service.api_key: the value is not an API key");
    expect(named + held).not.toContain("hunter2");
  });

  it("is another error than a file that cannot be read", () => {
    const readFile = (): string => {
      throw new Error("ENOENT: no such file or directory, open 'config.yaml'");
    };
    expect(() => loadConfig("config.yaml", { env: {}, readFile })).toThrow(
      expect.objectContaining({
        code: "CONFIG_UNREADABLE",
        message: "cannot read the config file: ENOENT: no such file or directory, open 'config.yaml'",
      }),
    );
  });
});
