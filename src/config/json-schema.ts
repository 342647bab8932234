import * as z from "zod";
import { configSchema } from "./config.ts";

/** What the `meta` of a key has beside JSON Schema's own keywords: see `schema.ts` and `values.ts`. */
const META_KEYS = ["what", "remedy", "otherwise", "see", "example"] as const;

/** A schema with the `meta` of its key, of which all but the example are texts. */
export interface KeySchema
  extends z.core.JSONSchema.JSONSchema,
    Partial<Record<Exclude<(typeof META_KEYS)[number], "example">, string>> {}

/**
 * The JSON Schema of a config file as a user writes it, before any `${…}` is replaced, with what each key means. In draft 7,
 * which all editors know.
 */
export const configJsonSchema = (): z.core.JSONSchema.JSONSchema => schemaOf(forEditors);

/** The same with the `meta` of each key as it is declared, for the pages that are generated. */
export const declaredSchema = (): KeySchema => schemaOf(() => {});

const schemaOf = (finish: (schema: KeySchema) => void): KeySchema =>
  z.toJSONSchema(configSchema, {
    io: "input",
    target: "draft-7",
    override: ({ zodSchema, jsonSchema }) => {
      if (jsonSchema.enum !== undefined || jsonSchema.const !== undefined) allowText(jsonSchema, REFERENCE);
      if (jsonSchema.oneOf !== undefined) allowSeveral(jsonSchema);
      if (zodSchema instanceof z.ZodPreprocess) allowUnprocessed(jsonSchema);
      finish(jsonSchema);
    },
  });

/** Makes one text of a key's meta. It has no code marks, because editors show plain text. */
function forEditors(schema: KeySchema): void {
  const { description, otherwise } = schema;
  for (const key of META_KEYS) delete schema[key];
  if (description === undefined) return;
  const parts = [description, otherwise && `If left out: ${otherwise}.`];
  schema.description = parts.filter(Boolean).join(" ").replaceAll("`", "");
}

const REFERENCE = "\\$\\{.*\\}";
/** As text, because a `${…}` gives text: see `values.ts`. */
const BOOLEAN = "^(true|false)$";
const NUMBER = "^[-+]?(\\.\\d+|\\d+(\\.\\d*)?)([eE][-+]?\\d+)?$";
const NOTHING: KeySchema = { type: "null" };

/** Zod describes the values that a preprocessing step returns. Adds the values that the step accepts beside them. */
function allowUnprocessed(schema: KeySchema): void {
  const { type, items, anyOf, required } = schema;
  if (type === "boolean") allowText(schema, BOOLEAN, REFERENCE);
  else if (type === "integer" || type === "number") allowText(schema, NUMBER, REFERENCE);
  // A section without a required key may have nothing below its name.
  else if (type === "object" && required === undefined) allowInstead(schema, [NOTHING]);
  // A set of rules may have nothing below its name either. Zod shows the list of one with a `meta` twice.
  else if (anyOf !== undefined && !anyOf.includes(NOTHING)) anyOf.push(NOTHING);
  // A single token store needs no list.
  else if (type === "array") allowInstead(schema, [items as KeySchema, NOTHING]);
}

/** A section whose kind is a reference may fit several kinds. */
function allowSeveral(schema: KeySchema): void {
  const { oneOf = [] } = schema;
  delete schema.oneOf;
  schema.anyOf = oneOf;
}

const allowText = (schema: KeySchema, ...patterns: readonly string[]): void =>
  allowInstead(schema, [{ type: "string", pattern: patterns.join("|") }]);

const ANNOTATIONS: readonly string[] = ["description", "default", ...META_KEYS];

/** Makes what the schema says of the value one of several. What it tells the reader stays. */
function allowInstead(schema: KeySchema, others: readonly KeySchema[]): void {
  const own: KeySchema = {};
  for (const [key, value] of Object.entries(schema)) {
    if (ANNOTATIONS.includes(key)) continue;
    own[key] = value;
    delete schema[key];
  }
  schema.anyOf = [own, ...others];
}
