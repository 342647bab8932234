import { stringify } from "yaml";
import type { Config } from "../../src/config/config.ts";
import { loadConfig } from "../../src/config/load.ts";

/** The token stores of a config that has these `tokens`, and beside them what has to be there. */
export function loadTokens(tokens: unknown, env: Readonly<Record<string, string>> = {}): Config["tokens"] {
  const config = {
    service: { base_url: "https://dashboards.example.com", api_key: "k3y" },
    source: { url: "postgres://localhost/crm", table: "customers" },
    group: { id: "id", name: "company_name" },
    tokens,
  };
  return loadConfig("config.yaml", { env, readFile: () => stringify(config) }).tokens;
}
