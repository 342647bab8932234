import { z } from "zod";
import type { Json } from "../core/json.ts";
import { isTemplate, type ObjectRule, parseTemplate, type Rule, type TemplateRule } from "../core/rule.ts";
import { flag, scalar, type Wanted, wanted } from "./scalars.ts";
import { isRecord, type KeyRule, section } from "./section.ts";

/** A name as the database has it: it will be quoted, so capitals and spaces inside are fine. */
export const column = (want: Wanted = wanted("a column name", "write the name of one column")) =>
  scalar((text) => (text === "" || text.trim() !== text || isTemplate(text) ? undefined : text), want);

/** Measures a value against the one schema that it was meant for; z.union would only say that none fits. */
const meantFor = <T>(schemaOf: (value: unknown) => z.ZodType<T>) =>
  z.unknown().transform((value, context) => {
    const result = schemaOf(value).safeParse(value);
    if (result.success) return result.data;
    for (const { path, message } of result.error.issues) context.addIssue({ code: "custom", path, message });
    return z.NEVER;
  });

const template = scalar(
  (text): TemplateRule["parts"] | undefined => (isTemplate(text) ? parseTemplate(text) : undefined),
  wanted("a template", 'put each column name in two pairs of braces: "{{ region }}-x"'),
);

const shortForm = scalar(
  (text): Rule | undefined => {
    if (!isTemplate(text)) {
      return text.trim() === "" ? undefined : { kind: "column", column: text, optional: false };
    }
    const parts = parseTemplate(text);
    return parts && { kind: "template", parts, optional: false };
  },
  wanted("a rule", 'write a column name, a template "{{ column }}-x", or { value: … } for a constant'),
);

const optional = flag.prefault(false);

const whatever = z.unknown().optional();

/** A map that is none of the forms: nearly always a misspelt key, which is to be found among those of all forms. */
const noForm = section(
  { column: whatever, template: whatever, value: whatever, optional: whatever, default: whatever },
  function* () {
    yield ["column", "is missing; write { column: … }, { template: … } or { value: … }"];
  },
).transform((): Rule => z.NEVER);

const ruleOf = (constant: z.ZodType<Json>, keyRule: KeyRule) => {
  const constantForm = section({ value: constant }).transform(
    ({ value }): Rule => ({ kind: "constant", value }),
  );
  const templateForm = section({ template, optional }, keyRule).transform(
    (keys): Rule => ({ kind: "template", parts: keys.template, optional: keys.optional }),
  );
  const columnForm = section({ column: column(), optional, default: constant.optional() }, keyRule).transform(
    (keys): Rule => ({
      kind: "column",
      column: keys.column,
      optional: keys.optional,
      ...(keys.default !== undefined && { default: keys.default }),
    }),
  );
  return meantFor<Rule>((value) => {
    if (!isRecord(value)) return shortForm;
    if ("value" in value) return constantForm;
    if ("template" in value) return templateForm;
    return "column" in value ? columnForm : noForm;
  });
};

const objectOf = (rule: z.ZodType<Rule>) => {
  const want = wanted(
    "a set of rules",
    "put one rule a line below it, or name the one JSON column that has it all",
  );
  const json = column(want).transform((name): ObjectRule => ({ kind: "json", column: name }));
  const keys = z
    .record(z.string(), rule, want)
    .transform((rules): ObjectRule => ({ kind: "keys", keys: rules }));
  return z.preprocess(
    (value) => value ?? {},
    meantFor<ObjectRule>((value) => (typeof value === "string" ? json : keys)),
  );
};

/** The service takes names and mapping values as strings, whatever they look like. */
const stringConstant = z
  .union([z.string(), z.number(), z.boolean()], wanted("text, a number, true or false", "write one of these"))
  .transform(String);

const everyGroupHasAName: KeyRule = function* (keys) {
  if (keys.optional === true) yield ["optional", "is not possible: every group needs a name; remove it"];
};

const optionalOrDefault: KeyRule = function* (keys) {
  if (keys.optional !== true || keys.default === undefined) return;
  yield ["optional", "means nothing beside default, which stands in for a null; keep one of the two"];
};

export const nameRule = ruleOf(stringConstant, everyGroupHasAName);
export const dataSourceIdRule = ruleOf(stringConstant, optionalOrDefault);
export const mappingRule = objectOf(ruleOf(stringConstant, optionalOrDefault));
export const propertiesRule = objectOf(ruleOf(z.json(), optionalOrDefault));
