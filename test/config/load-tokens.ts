import { stringify } from "yaml";
import type { Config } from "../../src/config/config.ts";
import { loadConfig } from "../../src/config/load.ts";
import { insistOnSchema } from "../support/config-schema.ts";

/** The token stores of a config with these `tokens` and the required keys. Throws if the JSON Schema refuses them. */
export function loadTokens(tokens: unknown, env: Readonly<Record<string, string>> = {}): Config["tokens"] {
  const yaml = stringify({
    service: { base_url: "https://dashboards.example.com", api_key: "k3y" },
    source: { url: "postgres://localhost/crm", table: "customers" },
    group: { id: "id", name: "company_name" },
    tokens,
  });
  const config = loadConfig("config.yaml", { env, readFile: () => yaml });
  insistOnSchema(yaml);
  return config.tokens;
}
