import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Service } from "./service.ts";

/** A config file, and the flags that every command needs with it. */
export interface ConfigFile {
  readonly path: string;
  readonly flags: readonly string[];
}

/** Writes a config file for the customers of a database. */
export function writeConfig(
  folder: string,
  databaseUrl: string,
  { baseUrl, apiKey }: Pick<Service, "baseUrl" | "apiKey">,
  concurrency: number,
  more: Readonly<Record<string, unknown>> = {},
): ConfigFile {
  const path = join(folder, "config.yaml");
  const config = {
    service: { base_url: baseUrl, api_key: apiKey, concurrency },
    source: { url: databaseUrl, table: "customers" },
    group: {
      id: "id",
      name: "company_name",
      mapping: { 40: "data_source_id" },
      properties: { plan: "plan", seats: "seats" },
    },
    ...more,
  };
  writeFileSync(path, JSON.stringify(config));
  return { path, flags: ["--config", path, "--log-level", "error"] };
}
