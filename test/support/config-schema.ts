import { Ajv } from "ajv";
import { parse } from "yaml";
import { configJsonSchema } from "../../src/config/json-schema.ts";

const accepts = new Ajv({ allErrors: true, allowUnionTypes: true, strict: true }).compile(configJsonSchema());

/** What the JSON Schema of the config has against this one. */
export const schemaProblems = (config: unknown): string[] =>
  accepts(config)
    ? []
    : (accepts.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);

/** Throws if the JSON Schema refuses a config file. */
export function insistOnSchema(yaml: string): void {
  const problems = schemaProblems(parse(yaml, { merge: true }));
  if (problems.length > 0)
    throw new Error(`the JSON Schema refuses the config:\n${problems.join("\n")}\n${yaml}`);
}
