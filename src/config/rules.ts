import * as z from "zod";
import {
  isTemplate,
  type ObjectRule,
  parseTemplate,
  type Rule,
  type TemplateRule,
} from "../core/group/group-rules.ts";
import type { Json } from "../core/text/json.ts";
import { column, flag, mustBe, parsed, strictKeys } from "./values.ts";

const template = parsed(
  "a template",
  'put each column name in two pairs of braces: "{{ region }}-x"',
  (text): TemplateRule["parts"] | undefined => (isTemplate(text) ? parseTemplate(text) : undefined),
);

const WHAT = "a rule";
const REMEDY = 'write a column name, a template "{{ column }}-x", or { value: … } for a constant';

const shortForm = parsed(WHAT, REMEDY, (text): Rule | undefined => {
  if (!isTemplate(text)) {
    return text.trim() === "" ? undefined : { kind: "column", column: text, optional: false };
  }
  const parts = parseTemplate(text);
  return parts && { kind: "template", parts, optional: false };
});

const longKeys = (constant: z.ZodType<Json>) =>
  strictKeys({
    column: column().exactOptional().meta({ description: "The column whose value it is." }),
    template: template.exactOptional().meta({
      description: "Text with columns in it, like `{{ region }}-x`. The value is always text.",
    }),
    value: constant.exactOptional().meta({ description: "A constant." }),
    optional: flag.exactOptional().meta({
      description: "Whether a null leaves the key out, instead of rejecting the row.",
    }),
    default: constant.exactOptional().meta({ description: "What stands in for a null of the column." }),
  });

type LongKeys = z.output<ReturnType<typeof longKeys>>;

/** What is wrong between the keys of the long form: the key to blame, and what would be right. */
function* problemsBetween(keys: LongKeys): Generator<readonly [key: string, message: string]> {
  const { column, template, value, optional, default: standIn } = keys;
  const forms = Object.entries({ value, template, column }).filter(([, written]) => written !== undefined);
  const form = forms[0]?.[0];
  if (form === undefined) {
    yield ["column", "is missing; write { column: … }, { template: … } or { value: … }"];
  }
  for (const [other] of forms.slice(1)) yield [other, `cannot stand beside ${form}; keep one of the two`];
  if (form === "value" && optional !== undefined) {
    yield ["optional", "means nothing beside value, which is the same for every row; remove it"];
  }
  if ((form === "value" || form === "template") && standIn !== undefined) {
    yield ["default", `goes only with column, and not with ${form}; remove it`];
  } else if (optional === true && standIn !== undefined) {
    yield ["optional", "means nothing beside default, which stands in for a null; keep one of the two"];
  }
}

/** A rule: text, or a map with one of `column`, `template` and `value`, and the options of that form. */
const ruleOf = (constant: z.ZodType<Json>) => {
  const longForm = longKeys(constant)
    .superRefine((keys, context) => {
      for (const [key, message] of problemsBetween(keys))
        context.addIssue({ code: "custom", path: [key], message });
    })
    .transform(({ column = "", template, value, optional = false, default: standIn }): Rule => {
      if (value !== undefined) return { kind: "constant", value };
      if (template !== undefined) return { kind: "template", parts: template, optional };
      return { kind: "column", column, optional, ...(standIn !== undefined && { default: standIn }) };
    });
  return z.union([shortForm, longForm], mustBe(WHAT, REMEDY)).meta({ what: WHAT, remedy: REMEDY });
};

const objectOf = (rule: z.ZodType<Rule>) => {
  const what = "a set of rules";
  const remedy = "put one rule a line below it, or name the one JSON column that has it all";
  const ofOneColumn = column(remedy, what).transform((name): ObjectRule => ({ kind: "json", column: name }));
  const ofKeys = z
    .record(z.string(), rule, mustBe(what, remedy))
    .transform((rules): ObjectRule => ({ kind: "keys", keys: rules }));
  return z
    .preprocess((value) => value ?? {}, z.union([ofOneColumn, ofKeys], mustBe(what, remedy)))
    .prefault({})
    .meta({ what });
};

/** A constant for a name or a mapping value, which the service takes as text only. */
const stringConstant = z
  .union([z.string(), z.number(), z.boolean()], mustBe("text, a number, true or false", "write one of these"))
  .transform(String);

const dataSource = stringConstant.refine(
  (text) => text.trim() !== "",
  "is empty; write the id of a data source",
);

export const textRule = ruleOf(stringConstant);
export const mappingRules = objectOf(ruleOf(dataSource));
export const propertiesRules = objectOf(ruleOf(z.json()));
