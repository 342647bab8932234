// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is what the config file has
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config/load.ts";
import type { Config } from "../../src/config/model/config.ts";

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

/** Every key of the config, from the report of an unknown key, which lists the keys of its section. */
function keysBelow(path: readonly string[]): string[] {
  const yaml = path.reduceRight<object>((inner, key) => ({ [key]: inner }), { zzzzzzzzzzzz: 1 });
  const place = [...path, "zzzzzzzzzzzz"].join(".");
  try {
    load(JSON.stringify(yaml));
  } catch (error) {
    const line = String(error)
      .split("\n")
      .find((text) => text.includes(` ${place}: unknown key`));
    const keys = line?.split("the keys here are ")[1]?.split(", ") ?? [];
    return keys.flatMap((key) => [key, ...keysBelow([...path, key])]);
  }
  return [];
}

describe("config.example.yaml", () => {
  it("holds the defaults as they are", () => {
    const required = `
service: { base_url: https://dashboards.example.com, api_key: k3y }
source: { url: postgres://localhost/crm, table: customers }
group: { id: id, name: company_name }
`;
    expect(load(example)).toEqual(load(required));
  });

  it("explains every key", () => {
    const keys = keysBelow([]);
    expect(keys).toContain("percent");
    expect(keys.filter((key) => !new RegExp(`(?<!\\w)${key}:`).test(example))).toEqual([]);
  });

  it("loads with the keys that it shows behind a #", () => {
    const shown = example.replace(
      /^( *)# ( *(?:rate_limit|where|removed_when|ready_when|data_source_provided_id|url|max_age|window|max_per_run|listen|stale_after|sync_key|column|every|channel|verify|webhook|heartbeat|"\d+"|plan|tier|logo): |changes:$)/gm,
      "$1$2",
    );
    const config = load(shown);
    expect(config).toMatchObject({
      service: { rateLimit: { count: 170, perMs: 60_000 } },
      source: {
        where: "status = 'active'",
        removedWhen: "deleted_at IS NOT NULL",
        readyWhen: "warehouse_ref IS NOT NULL",
        changes: { column: { name: "updated_at", everyMs: 1_000 }, channel: { name: "customers_changed" } },
      },
      tokens: [{ url: { dialect: "mysql" } }],
      ledger: { url: { dialect: "mysql" } },
      rotation: { maxAgeMs: 7_776_000_000, window: { from: 120, to: 300 }, maxPerRun: 50 },
      http: { listen: { host: "127.0.0.1", port: 8080 }, staleAfterMs: 900_000 },
    });
    expect(config.notify.webhook?.reveal()).toBe("https://hooks.example.com/x");
    expect(config.http.syncKey?.reveal()).toBe(env.GROUPSYNC_SYNC_KEY);
    expect(config.source.changes?.channel?.url.url.reveal()).toBe(env.CHANGES_DATABASE_URL);
    // A channel is PostgreSQL's, and the url that is shown beside it is MySQL's here.
    expect(load(example.replace("# notify:", "notify:")).tokens).toMatchObject([
      { notify: "groupsync_tokens" },
    ]);
    expect(config.group).toMatchObject({
      dataSourceId: { kind: "column", column: "data_source_id" },
      mapping: { keys: { "40": { kind: "column" }, "134": { kind: "template" } } },
      properties: {
        keys: { plan: { kind: "column" }, tier: { kind: "constant" }, logo: { optional: true } },
      },
    });
  });
});
