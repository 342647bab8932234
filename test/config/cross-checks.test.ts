import { describe, expect, it, test } from "vitest";
import { stringify } from "yaml";
import { loadConfig } from "../../src/config/load.ts";
import { SyncError } from "../../src/core/failure/sync-error.ts";
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
      "a token table that is the source",
      { tokens: { table: "customers" } },
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

const withService = (keys: Keys): Keys => ({ service: { base_url: ELSEWHERE, api_key: "k3y", ...keys } });
const withTokens =
  (tokens: Keys) =>
  (keys: Keys): Keys => ({ tokens: { ...tokens, ...keys } });
const withNotify =
  (notify: Keys) =>
  (keys: Keys): Keys => ({ notify: { ...notify, ...keys } });

/** The problems of the report; none if the config is right. */
function problemLines(keys: Keys): string[] {
  const config = {
    service: { base_url: "https://dashboards.example.com", api_key: "k3y" },
    source: { url: "postgres://localhost/crm", table: "customers" },
    group: { id: "id", name: "company_name" },
    ...keys,
  };
  try {
    loadConfig("config.yaml", { env: {}, readFile: () => stringify(config) });
    return [];
  } catch (error) {
    if (!(error instanceof SyncError)) throw error;
    return error.message.split("\n").slice(1);
  }
}

describe.each<[key: string, (keys: Keys) => Keys]>([
  ["service.base_url", withService],
  ["tokens.address", withTokens({ store: "vault", address: ELSEWHERE, auth: { token: "t" } })],
  ["tokens.endpoint", withTokens({ store: "aws_secrets_manager", endpoint: ELSEWHERE })],
  ["tokens.endpoint", withTokens({ store: "gcp_secret_manager", project: "crm-prod", endpoint: ELSEWHERE })],
  ["notify.webhook", withNotify({ webhook: `${ELSEWHERE}/services/T0/hunter2` })],
  ["notify.heartbeat", withNotify({ heartbeat: `${ELSEWHERE}/hunter2` })],
])("plain http to another host in %s", (key, config) => {
  it("is a problem, and its value isn't shown", () => {
    const problems = problemLines(config({}));
    expect(problems).toEqual([
      expect.stringMatching(
        `${key}: is http to another host.*write https://…, or allow_http: true beside it`,
      ),
    ]);
    expect(problems.join()).not.toContain("hunter2");
  });

  it("is allowed by allow_http: true", () => {
    expect(problemLines(config({ allow_http: true }))).toEqual([]);
  });
});

test.each(["http://localhost:8080", "http://127.0.0.1", "http://[::1]:80/tenant/a", "http://0x7f.1"])(
  "%s stays on this machine",
  (base_url) => {
    expect(problemLines(withService({ base_url }))).toEqual([]);
  },
);

test.each([
  "http://localhost.example.com",
  "http://127.0.0.1.example.com",
  "http://[::ffff:10.0.0.1]",
  "http://0",
])("%s is another host", (base_url) => {
  expect(problemLines(withService({ base_url }))).toHaveLength(1);
});
