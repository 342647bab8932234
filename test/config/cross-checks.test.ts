import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { parse } from "yaml";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { load, MINIMAL, problemsOf, withKeys } from "./config-file.ts";

describe("sections", () => {
  it("may have a token table with the name of the source's table in another database", () => {
    const { tokens } = load(withKeys({ tokens: { table: "customers", url: "postgres://localhost/tokens" } }));
    expect(tokens).toMatchObject([{ table: "customers", rows: "own" }]);
  });

  it.each<[string, object, string]>([
    [
      "deletion.when: flagged without removed_when",
      { deletion: { when: "flagged" } },
      "source.removed_when: is missing; with deletion.when: flagged, write the condition",
    ],
    [
      "a token table that is the source, by its url",
      { tokens: { table: "customers", url: MINIMAL.source.url } },
      "tokens.table: is the table of the tenants",
    ],
    [
      "a schema on MySQL",
      { source: { url: "mysql://localhost/crm" }, ledger: { table_prefix: "ops.gs_" } },
      "ledger.table_prefix: has a schema, which MySQL has not",
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
  ])("cannot have %s", (_, keys, problem) => {
    expect(problemsOf(withKeys(keys))).toContain(`1 problem:\n  line 1  ${problem}`);
  });
});

const ELSEWHERE = "http://vault.internal:8200";

type Keys = Readonly<Record<string, unknown>>;

const withService = (keys: Keys): Keys => ({ service: { base_url: ELSEWHERE, ...keys } });
const withTokens =
  (tokens: Keys) =>
  (keys: Keys): Keys => ({ tokens: { ...tokens, ...keys } });
const withNotify =
  (notify: Keys) =>
  (keys: Keys): Keys => ({ notify: { ...notify, ...keys } });

describe.each<[key: string, (keys: Keys) => Keys]>([
  ["service.base_url", withService],
  ["tokens.address", withTokens({ store: "vault", address: ELSEWHERE, auth: { token: "t" } })],
  ["tokens.endpoint", withTokens({ store: "aws_secrets_manager", endpoint: ELSEWHERE })],
  ["tokens.endpoint", withTokens({ store: "gcp_secret_manager", project: "crm-prod", endpoint: ELSEWHERE })],
  ["notify.webhook", withNotify({ webhook: `${ELSEWHERE}/services/T0/hunter2` })],
  ["notify.heartbeat", withNotify({ heartbeat: `${ELSEWHERE}/hunter2` })],
])("plain http to another host in %s", (key, config) => {
  it("is a problem, and its value isn't shown", () => {
    const problems = problemsOf(withKeys(config({})));
    expect(problems).toMatch(/has 1 problem:.*\n.* is http to another host.*or allow_http: true beside it$/);
    expect(problems).toContain(`${key}: is http`);
    expect(problems).not.toContain("hunter2");
  });

  it("is allowed by allow_http: true", () => {
    expect(problemsOf(withKeys(config({ allow_http: true })))).toBe("none");
  });
});

test.each(["http://localhost:8080", "http://127.0.0.1", "http://[::1]:80/tenant/a", "http://0x7f.1"])(
  "%s stays on this machine",
  (base_url) => {
    expect(problemsOf(withKeys(withService({ base_url })))).toBe("none");
  },
);

test.each([
  "http://localhost.example.com",
  "http://127.0.0.1.example.com",
  "http://[::ffff:10.0.0.1]",
  "http://0",
])("%s is another host", (base_url) => {
  expect(problemsOf(withKeys(withService({ base_url })))).toContain("is http to another host");
});

/** The problems of a config whose list of token stores has these entries. */
const problemsOfStores = (...entries: readonly string[]): string =>
  problemsOf(withKeys({ tokens: entries.map((entry) => parse(`{ ${entry} }`)) }));

const ID = "{{ user_group_id }}";
const vault = "store: vault, address: https://v, auth: { token: t }";
const kubernetes = "store: kubernetes";

describe("two token stores", () => {
  it.each<[string, string, string, string]>([
    ["one table", "verify: 1h", "table: groupsync_tokens", "writes into the table of"],
    [
      "a table by two urls and spellings",
      "table: app.t",
      `url: "postgresql://me:hunter2@LOCALHOST:5432/crm?sslmode=require", table: '"app"."t"'`,
      "writes into the table of",
    ],
    [
      "one column",
      "rows: existing, table: t, id_column: id, token_column: token",
      "rows: existing, table: t, id_column: other, token_column: token",
      "writes into the table of",
    ],
    [
      "rows of which only one is the owner",
      "table: t, token_column: a",
      "rows: existing, table: t, id_column: user_group_id, token_column: b",
      "writes into the table of",
    ],
    [
      "one directory",
      "store: file, directory: /x",
      "store: file, directory: /x/y/..",
      "shares a directory with",
    ],
    ["a directory in the other", "store: file, directory: /x/y", "store: file, directory: /x", "shares a"],
    ["one path in Vault", vault, `${vault}, format: json, mount: /secret/`, "may write secrets of"],
    [
      "a path that begins like the other",
      vault,
      `${vault}, path: "dashboards/json-${ID}"`,
      "may write secrets of",
    ],
    [
      "a path that only ends differently",
      vault,
      `${vault}, path: "dashboards/${ID}.json"`,
      "may write secrets of",
    ],
    ["one key", kubernetes, `${kubernetes}, format: json`, "may write secrets of"],
    [
      "Secrets of different tenants",
      kubernetes,
      `${kubernetes}, key: other, path: "dashboards-x-${ID}"`,
      "may write secrets of",
    ],
  ])("cannot share %s", (_, one, other, message) => {
    const problems = problemsOfStores(one, "store: file, directory: /apart", other);
    expect(problems).toMatch(new RegExp(`1 problem:\\n  line 1  tokens\\.2: ${message}.* tokens\\.0[;,]`));
    expect(problems).not.toContain("hunter2");
  });

  it.each<[string, string, string]>([
    ["tables", "table: a", "table: b"],
    ["databases", "table: t", "url: mysql://localhost/crm, table: t"],
    [
      "columns of somebody else's table",
      "rows: existing, table: t, id_column: id, token_column: a",
      "rows: existing, table: t, id_column: id, token_column: b",
    ],
    ["directories", "store: file, directory: /x", "store: file, directory: /xy"],
    ["folders", vault, `${vault}, path: "dashboards-json/${ID}", format: json`],
    ["mounts", vault, `${vault}, mount: other`],
    ["regions", "store: aws_secrets_manager, region: eu-a-1", "store: aws_secrets_manager, region: eu-b-1"],
    ["keys of one Secret", kubernetes, `${kubernetes}, key: json, format: json`],
    ["kinds", vault, "store: file, directory: /x"],
  ])("may have %s of their own", (_, one, other) => {
    expect(problemsOfStores(one, other)).toBe("none");
  });

  it("cannot share a directory through a symbolic link, though one isn't there yet", async () => {
    const folder = temporaryFolder();
    await symlink(folder, join(folder, "link"));
    const one = `store: file, directory: ${join(folder, "new", "tokens")}`;
    const other = `store: file, directory: ${join(folder, "link", "new")}`;
    expect(problemsOfStores(one, other)).toContain("tokens.1: shares a directory with tokens.0");
  });

  it("are compared even if a third store is wrong", () => {
    const problems = problemsOfStores("table: t", "store: nowhere", "table: t");
    expect(problems).toContain("tokens.1.store: is not possible here");
    expect(problems).toContain("tokens.2: writes into the table of tokens.0;");
  });
});
