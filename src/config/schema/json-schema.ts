import * as z from "zod";
import { describeConfig } from "../descriptions/describe-keys.ts";
import { configSchema } from "./schema.ts";

type JsonSchema = z.core.JSONSchema.JSONSchema;

/**
 * The JSON Schema of a config file as a user writes it, before any `${…}` is replaced, with what each key means. In draft 7,
 * which all editors know.
 */
export function configJsonSchema(): JsonSchema {
  const schema = z.toJSONSchema(configSchema, {
    io: "input",
    target: "draft-7",
    override: ({ zodSchema, jsonSchema }) => {
      if (jsonSchema.enum !== undefined || jsonSchema.const !== undefined) allowText(jsonSchema, REFERENCE);
      if (jsonSchema.oneOf !== undefined) allowSeveral(jsonSchema);
      if (zodSchema instanceof z.ZodPreprocess) allowUnprocessed(jsonSchema);
    },
  });
  describeConfig(schema);
  return schema;
}

const REFERENCE = "\\$\\{.*\\}";
/** As text, because a `${…}` gives text: see `scalars.ts`. */
const BOOLEAN = "^(true|false)$";
const NUMBER = "^[-+]?(\\.\\d+|\\d+(\\.\\d*)?)([eE][-+]?\\d+)?$";
const NOTHING: JsonSchema = { type: "null" };

/** Zod describes the values that a preprocessing step returns. Adds the values that the step accepts beside them. */
function allowUnprocessed(schema: JsonSchema): void {
  const { type, items, anyOf, required } = schema;
  if (type === "boolean") allowText(schema, BOOLEAN, REFERENCE);
  else if (type === "integer" || type === "number") allowText(schema, NUMBER, REFERENCE);
  // A section without a required key may have nothing below its name.
  else if (type === "object" && required === undefined) allowInstead(schema, [NOTHING]);
  // A set of rules may have nothing below its name either.
  else if (anyOf !== undefined) anyOf.push(NOTHING);
  // A single token store needs no list.
  else if (type === "array") allowInstead(schema, [items as JsonSchema, NOTHING]);
}

/** A section whose kind is a reference may fit several kinds. */
function allowSeveral(schema: JsonSchema): void {
  const { oneOf = [] } = schema;
  delete schema.oneOf;
  schema.anyOf = oneOf;
}

const allowText = (schema: JsonSchema, ...patterns: readonly string[]): void =>
  allowInstead(schema, [{ type: "string", pattern: patterns.join("|") }]);

/** Makes the schema one of several. */
function allowInstead(schema: JsonSchema, others: readonly JsonSchema[]): void {
  const own = { ...schema };
  for (const key of Object.keys(own)) delete schema[key];
  schema.anyOf = [own, ...others];
}
