import { stringify } from "yaml";
import { loadConfig } from "../../src/config/load.ts";
import type { Config } from "../../src/config/model/config.ts";

/** The token stores of a config with these `tokens` and the required keys. */
export function loadTokens(tokens: unknown, env: Readonly<Record<string, string>> = {}): Config["tokens"] {
  const config = {
    service: { base_url: "https://dashboards.example.com", api_key: "k3y" },
    source: { url: "postgres://localhost/crm", table: "customers" },
    group: { id: "id", name: "company_name" },
    tokens,
  };
  return loadConfig("config.yaml", { env, readFile: () => stringify(config) }).tokens;
}
