// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is what the config file has
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { configSections } from "../../build/docs/config-reference.ts";
import type { Config } from "../../src/config/config.ts";
import { loadConfig } from "../../src/config/load.ts";

const example = readFileSync(new URL("../../config.example.yaml", import.meta.url), "utf8");
const env = {
  GROUPSYNC_API_KEY: "k3y",
  DATABASE_URL: "postgres://localhost/crm",
  TOKENS_DATABASE_URL: "mysql://localhost/tokens",
  LEDGER_DATABASE_URL: "mysql://localhost/ledger",
  CHANGES_DATABASE_URL: "postgres://localhost:5433/crm",
  GROUPSYNC_SYNC_KEY: "0123456789abcdef",
  GROUPSYNC_WEBHOOK: "https://hooks.example.com/x",
  GROUPSYNC_HEARTBEAT: "https://beats.example.com/y",
};
const load = (yaml: string): Config => loadConfig("config.yaml", { env, readFile: () => yaml });

describe("config.example.yaml", () => {
  it("holds the defaults as they are", () => {
    const required = `
service: { base_url: https://dashboards.example.com, api_key: k3y }
source: { url: postgres://localhost/crm, table: customers }
group: { id: id, name: company_name }
`;
    expect(load(example)).toEqual(load(required));
  });

  it("loads with the keys that it shows behind a #", () => {
    const keys = configSections().flatMap((section) => section.keys.map(({ key }) => key.split(".").at(-1)));
    // The query goes with no table; owner and notify are PostgreSQL's, and the tokens' url is MySQL's in this test.
    const shown = keys.filter((key) => key !== "query" && key !== "owner" && key !== "notify").join("|");
    const isOff = new RegExp(`^( *)# ((?:${shown}|  "\\w+"): )`, "gm");
    const config = load(example.replace(isOff, "$1$2"));
    expect(config).toMatchObject({
      service: { rate_limit: { count: 170, perMs: 60_000 }, refresh: 604_800_000 },
      source: {
        where: "status = 'active'",
        removed_when: "deleted_at IS NOT NULL",
        ready_when: "warehouse_ref IS NOT NULL",
        changes: { column: "updated_at", every: 1_000, channel: "customers_changed" },
        row_security: "error",
      },
      tokens: [{ url: { dialect: "mysql" }, verify: 86_400_000 }],
      ledger: { url: { dialect: "mysql" } },
      rotation: { maxAgeMs: 7_776_000_000, window: { from: 120, to: 300 }, maxPerRun: 50 },
      http: { listen: { host: "127.0.0.1", port: 8080 }, stale_after: 900_000 },
    });
    expect(config.notify.webhook?.reveal()).toBe("https://hooks.example.com/x");
    expect(config.http.sync_key?.reveal()).toBe(env.GROUPSYNC_SYNC_KEY);
    expect(config.source.changes.url?.url.reveal()).toBe(env.CHANGES_DATABASE_URL);
    expect(config.group).toMatchObject({
      dataSourceId: { kind: "column", column: "data_source_id" },
      mapping: { keys: { "40": { kind: "column" }, "134": { kind: "template" } } },
      properties: {
        keys: { plan: { kind: "column" }, tier: { kind: "constant" }, logo: { optional: true } },
      },
    });
  });

  it.each(["owner", "notify"])("loads with the key %s", (key) => {
    expect(load(example.replace(`# ${key}:`, `${key}:`)).tokens).toMatchObject([
      { [key]: expect.any(String) },
    ]);
  });
});
