import { commandHelp } from "./command-help.ts";
import { configExample } from "./config-example.ts";
import { configReference } from "./config-reference.ts";
import { installationsTable } from "./installations-table.ts";
import { jsonExample } from "./json-examples.ts";
import { metricsTable } from "./metrics-table.ts";
import { type Generator, regenerated } from "./regions.ts";
import { serviceFailures } from "./service-failures.ts";

/** What `<!-- generated: NAME … -->` in a page may name. */
const GENERATORS: Readonly<Record<string, Generator>> = {
  config: configReference,
  help: commandHelp,
  installations: installationsTable,
  json: jsonExample,
  metrics: metricsTable,
  "service-failures": serviceFailures,
};

/** The files that are generated as a whole, by their path. */
export const FILES: Readonly<Record<string, () => string>> = { "config.example.yaml": configExample };

/** The page with its regions made anew from the code. */
export const generated = (page: string): Promise<string> => regenerated(page, GENERATORS);
