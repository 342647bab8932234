import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Service } from "./service.ts";

/** Writes a config file for the customers of a database, and gives the flags that every command then needs. */
export function writeConfig(
  folder: string,
  databaseUrl: string,
  { baseUrl, apiKey }: Pick<Service, "baseUrl" | "apiKey">,
  concurrency: number,
  more: Readonly<Record<string, unknown>> = {},
): readonly string[] {
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
  return ["--config", path, "--log-level", "error"];
}
