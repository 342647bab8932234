import type { Config } from "../../src/config/config.ts";
import { loadConfig } from "../../src/config/load.ts";
import { SyncError } from "../../src/core/failure/sync-error.ts";
import { insistOnSchema } from "../support/config-schema.ts";

export const MINIMAL = {
  service: { base_url: "https://dash.example.com/", api_key: "k3y" },
  source: { url: "postgres://app:pw@localhost/crm", table: "customers" },
  group: { id: "id", name: "company_name" },
};

/** A config file with the required keys and these. It is JSON, which is YAML, too. */
export const withKeys = (keys: object): string => {
  const sections: Record<string, object> = { ...MINIMAL };
  for (const [key, value] of Object.entries(keys)) {
    const isSection = typeof value === "object" && value !== null && !Array.isArray(value);
    sections[key] = isSection ? { ...sections[key], ...value } : value;
  }
  return JSON.stringify(sections);
};

/** Loads the config, and throws if the JSON Schema refuses a config that loads. */
export function load(yaml: string, env: Record<string, string> = {}): Config {
  const config = loadConfig("config.yaml", {
    env,
    readFile: (path) => {
      if (path === "config.yaml") return yaml;
      throw Object.assign(new Error("gone"), { code: "ENOENT" });
    },
  });
  insistOnSchema(yaml);
  return config;
}

/** The report of all problems; "none" if there are none. */
export function problemsOf(yaml: string, env: Record<string, string> = {}): string {
  try {
    load(yaml, env);
  } catch (error) {
    if (error instanceof SyncError && error.code === "CONFIG_INVALID") return error.message;
    throw error;
  }
  return "none";
}
