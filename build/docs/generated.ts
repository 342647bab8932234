import { readFileSync } from "node:fs";
import { commandHelp } from "./command-help.ts";
import { configExample } from "./config-example.ts";
import { storeReference } from "./config-reference.ts";
import { errorsTable } from "./errors-table.ts";
import { installationsTable } from "./installations-table.ts";
import { metricsTable } from "./metrics-table.ts";
import { type Generator, regenerated } from "./regions.ts";
import { serviceFailures } from "./service-failures.ts";

/** What `<!-- generated: NAME … -->` in a page may name. */
const GENERATORS: Readonly<Record<string, Generator>> = {
  errors: errorsTable,
  help: commandHelp,
  installations: installationsTable,
  metrics: metricsTable,
  "service-failures": serviceFailures,
  stores: storeReference,
};

/** The files that are generated as a whole, by their path. */
export const FILES: Readonly<Record<string, () => string>> = { "config.example.yaml": configExample };

const { repository, config } = JSON.parse(
  readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
) as { readonly repository: string; readonly config: { readonly image: string } };

/** The page with its regions made anew from the code, and with the addresses of package.json. */
export async function generated(page: string): Promise<string> {
  const text = await regenerated(page, GENERATORS);
  return text
    .replaceAll(/\bgit clone \S+/g, `git clone ${repository}`)
    .replaceAll(/(?<![\w.:/-])(?!node:)[\w.:/-]+(?=@sha256:…)/g, config.image);
}
