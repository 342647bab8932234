import { describe, expect, it, test } from "vitest";
import { stringify } from "yaml";
import { loadConfig } from "../../../src/config/load.ts";
import { SyncError } from "../../../src/core/failure/sync-error.ts";

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
function problemsOf(keys: Keys): string[] {
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
    const problems = problemsOf(config({}));
    expect(problems).toEqual([
      expect.stringMatching(
        `${key}: is http to another host.*write https://…, or allow_http: true beside it`,
      ),
    ]);
    expect(problems.join()).not.toContain("hunter2");
  });

  it("is allowed by allow_http: true", () => {
    expect(problemsOf(config({ allow_http: true }))).toEqual([]);
  });
});

test.each(["http://localhost:8080", "http://127.0.0.1", "http://[::1]:80/tenant/a", "http://0x7f.1"])(
  "%s stays on this machine",
  (base_url) => {
    expect(problemsOf(withService({ base_url }))).toEqual([]);
  },
);

test.each([
  "http://localhost.example.com",
  "http://127.0.0.1.example.com",
  "http://[::ffff:10.0.0.1]",
  "http://0",
])("%s is another host", (base_url) => {
  expect(problemsOf(withService({ base_url }))).toHaveLength(1);
});
