// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is what the config file has
import { inspect } from "node:util";
import { describe, expect, it, test } from "vitest";
import { stringify } from "yaml";
import { loadConfig } from "../../src/config/load.ts";
import { load, problemsOf, withKeys } from "./config-file.ts";

describe("a config", () => {
  const many = (count: number, line: (n: number) => string): string =>
    Array.from({ length: count }, (_, n) => line(n)).join("\n");

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
      `${config.service.api_key}`,
    ];
    expect(printed.join("\n")).not.toContain("s3cret");
  });

  it("is refused unread if it is too large", () => {
    expect(() => load(many(1_000_000, (n) => `k${n}: 1`))).toThrow(
      "cannot read the config file: it is larger than 256 KiB",
    );
  });

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
  line 1   name: is not a name; write text of up to 64 letters, digits, dots, dashes and underscores
  line 3   service.base_url: is not the address of a service; write it like https://dashboards.example.com, without user, query or /api/user
  line 4   service.api_key: is not an API key; write \${GROUPSYNC_API_KEY}, and set it to the bare key, without the word Token
  line 5   service.timeout: is not a duration up to 1h; write it like 15s
  line 6   service.concurency: unknown key; did you mean "concurrency"?
  line 7   service.concurrency: is not a whole number from 1 to 1000; write one, or leave the key out
  line 8   service.rate_limit: is not a rate; write it like 3/s, 170/min or 9000/h
  line 9   service.update: is not possible here; write upsert or replace or never
  line 11  source.url: the environment variable DATABASE_URL is not set; set it where groupsync is started
  line 12  source.table: is not the name of a table; write it like customers, app.customers or app."Customers"
  line 13  source.query: cannot stand beside table; keep one of the two
  line 15  group.id: is not a column name; write the name of one column; to compute an id, give it a name in source.query
  line 16  group.name.optional: is not possible: every group needs a name; remove it
  line 18  group.mapping.40: is not a rule; write a column name, a template "{{ column }}-x", or { value: … } for a constant
  line 19  group.mapping.40: is already there on line 18; keep one of the two
  line 20  group.mapping.41.optional: means nothing beside default, which stands in for a null; keep one of the two
  line 21  group.mapping.42: is not a rule; write a column name, a template "{{ column }}-x", or { value: … } for a constant
  line 22  group.mapping.43.value: is not text, a number, true or false; write one of these
  line 23  group.mapping.44.value: as a number this would not keep the form it is written in; put it in quotes
  line 24  group.mapping.__proto__: this name cannot be used; choose another
  line 26  group.properties.tier.vale: unknown key; did you mean "value"?
  line 26  group.properties.tier.column: is missing; write { column: … }, { template: … } or { value: … }
  line 27  group.properties.region: a key must be text; a template needs quotes: "{{ column }}"
  line 28  group.properties.logo: is empty; write a column name, a template "{{ column }}-x", or { value: … } for a constant
  line 29  tokens.table: is missing; with rows: existing, name the table of the tokens
  line 29  tokens.id_column: is missing; with rows: existing, name the id column of the tokens
  line 29  tokens.token_column: is missing; with rows: existing, name the token column of the tokens
  line 31  tokens.url: is not the url of a database; write it like postgres://user:password@host:5432/database or mysql://…, with %40 for an @, %2F for a / in the password
  line 32  tokens."api_key:…": unknown key; is a space missing after the colon?
  line 33  tokens.notify: is not the name of a channel; write small letters, digits and _, like groupsync_tokens
  line 35  ledger.table_prefix: is not a prefix for table names; write letters, digits and _, like groupsync_ or ops.groupsync_
  line 37  deletion.grace_period: is not a duration; write it like 24h
  line 38  deletion.limit.count: is not a whole number from 0 to 1000000; write one, or leave the key out
  line 38  deletion.limit.percent: is not a number from 0 to 100; write one, or leave the key out
  line 40  rotation.max_age: is not a duration above zero; write it like 90d
  line 41  rotation.window: is not a part of the day; write it like "02:00-05:00", by the clock of timezone
  line 42  rotation.max_per_run: is not a whole number from 1 on; write one, or leave the key out
  line 43  rotation.concurrency: is not a whole number from 1 to 100; write one, or leave the key out
  line 44  schedule: is not a cron line (see its minute); write minute, hour, day, month and weekday: "*/5 * * * *"
  line 45  timezone: is not a time zone; write it like UTC or Europe/Berlin`);
  });

  it("shows the first hundred problems and the number of the others", () => {
    const problems = problemsOf(many(1_000, (n) => `k${n}: 1`)).split("\n");
    expect(problems).toHaveLength(102);
    expect(problems[0]).toMatch(/^config\.yaml has 100\d problems:$/);
    expect(problems[101]).toMatch(/^ {2}… and 90\d more$/);
  });

  it("has an error of its own if the file cannot be read", () => {
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

  it("is refused unread if the environment switches the verification of servers off", () => {
    const loadUnverified = () =>
      loadConfig("config.yaml", {
        env: { NODE_TLS_REJECT_UNAUTHORIZED: "0" },
        readFile: () => {
          throw new Error("it was read");
        },
      });
    expect(loadUnverified).toThrow(
      expect.objectContaining({ code: "CONFIG_TLS", hint: expect.stringContaining("unset it") }),
    );
    // Node.js takes only "0" for a no.
    expect(problemsOf(withKeys({}), { NODE_TLS_REJECT_UNAUTHORIZED: "1" })).toBe("none");
  });
});

describe("what the schema finds wrong", () => {
  it("never shows a value, because any value may be a secret", () => {
    const env = { KEY: "two hunter2", URL: "hunter2" };
    const named = problemsOf(withKeys({ service: { api_key: "${KEY}" }, source: { url: "${URL}" } }), env);
    const held = problemsOf(
      withKeys({ service: { api_key: "two hunter2" }, source: { url: "${NO:-hunter2}" } }),
    );
    for (const problems of [named, held]) {
      expect(problems).toContain("service.api_key: is not an API key");
      expect(problems).toContain("source.url: is not the url of a database");
    }
    const elsewhere = problemsOf(withKeys({ source: { table: "postgres://a:hunter2@b/c" } }));
    expect(elsewhere).toContain("source.table: is not the name");
    expect(named + held + elsewhere).not.toContain("hunter2");
  });

  it("is that a key is empty, if it has nothing behind it", () => {
    expect(problemsOf(withKeys({ timezone: null }))).toContain(
      "1 problem:\n  line 1  timezone: is empty; write it like UTC or Europe/Berlin",
    );
  });
});

const env = { KEY: "k3y", URL: "postgres://app:s3cret@localhost/crm", PASSWORD: "s3cret", HOST: "localhost" };

/** Whether a config file with these sections holds a secret itself. */
function holdsSecret(sections: Readonly<Record<string, unknown>>): boolean {
  const config = {
    service: { base_url: "https://dash.example.com", api_key: "${KEY}" },
    source: { url: "${URL}", table: "customers" },
    group: { id: "id", name: "company_name" },
    ...sections,
  };
  const readFile = (path: string) => (path === "config.yaml" ? stringify(config) : "s3cret");
  let holds = false;
  loadConfig("config.yaml", { env, readFile }, () => {
    holds = true;
  });
  return holds;
}

const service = (api_key: string) => ({ service: { base_url: "https://dash.example.com", api_key } });
const source = (url: string) => ({ source: { url, table: "customers" } });
const vault = (auth: object) => ({
  tokens: [
    { table: "app_tokens" },
    { store: "vault", address: "https://vault.example.com", mount: "secret", auth },
  ],
});

test.each([
  ["an API key", service("k3y")],
  ["a password in a url", source("postgres://app:s3cret@localhost/crm")],
  ["one that a url has as a parameter", source("postgres://localhost/crm?user=app&password=x")],
  ["the ledger's", { ledger: { url: "mysql://app:s3cret@localhost/ledger" } }],
  ["one in a list", vault({ method: "token", token: "t0ken" })],
  ["an address that is a key", { notify: { webhook: "https://hooks.example.com/x" } }],
])("%s stands in the file", (_, sections) => {
  expect(holdsSecret(sections)).toBe(true);
});

test.each([
  ["a variable", service("${KEY}")],
  ["a file", service("${file:/run/secrets/api-key}")],
  ["a password from a variable", source("postgres://app:${PASSWORD}@localhost/crm")],
  ["a password from a file", source("mysql://app:${file:/run/secrets/pw}@localhost:3306/crm")],
  ["a url without a password", source("postgres://app@localhost/crm")],
  ["a socket", source("postgres:///crm?host=/run/postgresql")],
  ["a key in a file of its own", vault({ method: "token", token: "${file:/run/secrets/vault}" })],
  // A mixture counts as elsewhere: only a text without any reference is surely in the file as a whole.
  ["a part of an address", { notify: { webhook: "https://hooks.example.com/${KEY}" } }],
])("%s stands elsewhere", (_, sections) => {
  expect(holdsSecret(sections)).toBe(false);
});
