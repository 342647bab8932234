import { z } from "zod";
import { configSchema } from "./schema.ts";

type JsonSchema = z.core.JSONSchema.JSONSchema;

/** The JSON Schema of a config file as a user writes it, before any `${…}` is replaced. */
export const configJsonSchema = (): JsonSchema =>
  z.toJSONSchema(configSchema, {
    io: "input",
    override: ({ zodSchema, jsonSchema }) => {
      if (jsonSchema.enum !== undefined) allowReference(jsonSchema);
      if (zodSchema instanceof z.ZodPreprocess) allowUnprocessed(jsonSchema);
    },
  });

const REFERENCE: JsonSchema = { type: "string", pattern: "\\$\\{.*\\}" };
const NOTHING: JsonSchema = { type: "null" };

/** Zod describes the values that a preprocessing step returns. Adds the values that the step accepts beside them. */
function allowUnprocessed(schema: JsonSchema): void {
  const { type, items, anyOf, required } = schema;
  if (type === "integer" || type === "number" || type === "boolean") allowReference(schema);
  // A section without a required key may have nothing below its name.
  else if (type === "object" && required === undefined) allowInstead(schema, [NOTHING]);
  // A set of rules may have nothing below its name either.
  else if (anyOf !== undefined) anyOf.push(NOTHING);
  // A single token store needs no list.
  else if (type === "array") allowInstead(schema, [items as JsonSchema, NOTHING]);
}

const allowReference = (schema: JsonSchema): void => allowInstead(schema, [REFERENCE]);

/** Makes the schema one of several. */
function allowInstead(schema: JsonSchema, others: readonly JsonSchema[]): void {
  const own = { ...schema };
  for (const key of Object.keys(own)) delete schema[key];
  schema.anyOf = [own, ...others];
}
