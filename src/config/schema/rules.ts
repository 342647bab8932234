import * as z from "zod";
import {
  isTemplate,
  type ObjectRule,
  parseTemplate,
  type Rule,
  type TemplateRule,
} from "../../core/group/group-rules.ts";
import type { Json } from "../../core/text/json.ts";
import { flag, mustBe, parsedText, type Requirement } from "./scalars.ts";
import { type CrossCheck, strictKeys } from "./section.ts";

/** The name of a column as the database has it. The adapters quote it, so it may hold capitals and spaces. */
export const column = (requirement: Requirement = mustBe("a column name", "write the name of one column")) =>
  parsedText(
    (text) => (text === "" || text.trim() !== text || isTemplate(text) ? undefined : text),
    requirement,
  );

const template = parsedText(
  (text): TemplateRule["parts"] | undefined => (isTemplate(text) ? parseTemplate(text) : undefined),
  mustBe("a template", 'put each column name in two pairs of braces: "{{ region }}-x"'),
);

const aRule = mustBe(
  "a rule",
  'write a column name, a template "{{ column }}-x", or { value: … } for a constant',
);

const shortForm = parsedText((text): Rule | undefined => {
  if (!isTemplate(text)) {
    return text.trim() === "" ? undefined : { kind: "column", column: text, optional: false };
  }
  const parts = parseTemplate(text);
  return parts && { kind: "template", parts, optional: false };
}, aRule);

const oneForm: CrossCheck = function* ({ column, template, value, optional, default: standIn }) {
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
  }
};

/** A rule: text, or a map with one of `column`, `template` and `value`, and the options of that form. */
const ruleOf = (constant: z.ZodType<Json>, check: CrossCheck) =>
  z.union(
    [
      shortForm,
      strictKeys(
        {
          column: column().optional(),
          template: template.optional(),
          value: constant.optional(),
          optional: flag.optional(),
          default: constant.optional(),
        },
        function* (keys, isRight) {
          yield* oneForm(keys, isRight);
          yield* check(keys, isRight);
        },
      ).transform(({ column = "", template, value, optional = false, default: standIn }): Rule => {
        if (value !== undefined) return { kind: "constant", value };
        if (template !== undefined) return { kind: "template", parts: template, optional };
        return { kind: "column", column, optional, ...(standIn !== undefined && { default: standIn }) };
      }),
    ],
    aRule,
  );

const objectOf = (rule: z.ZodType<Rule>) => {
  const requirement = mustBe(
    "a set of rules",
    "put one rule a line below it, or name the one JSON column that has it all",
  );
  return z
    .preprocess(
      (value) => value ?? {},
      z.union(
        [
          column(requirement).transform((name): ObjectRule => ({ kind: "json", column: name })),
          z
            .record(z.string(), rule, requirement)
            .transform((rules): ObjectRule => ({ kind: "keys", keys: rules })),
        ],
        requirement,
      ),
    )
    .prefault({});
};

/** A constant for a name or a mapping value, which the service takes as text only. */
const stringConstant = z
  .union([z.string(), z.number(), z.boolean()], mustBe("text, a number, true or false", "write one of these"))
  .transform(String);

const everyGroupHasAName: CrossCheck = function* (keys) {
  if (keys.optional === true) yield ["optional", "is not possible: every group needs a name; remove it"];
};

const optionalOrDefault: CrossCheck = function* (keys) {
  if (keys.optional !== true || keys.default === undefined) return;
  yield ["optional", "means nothing beside default, which stands in for a null; keep one of the two"];
};

const dataSourceIsNamed: CrossCheck = function* (keys, isRight) {
  yield* optionalOrDefault(keys, isRight);
  for (const key of ["value", "default"]) {
    const text = keys[key];
    if (typeof text === "string" && text.trim() === "")
      yield [key, "is empty; write the id of a data source"];
  }
};

export const nameRule = ruleOf(stringConstant, everyGroupHasAName);
export const dataSourceIdRule = ruleOf(stringConstant, optionalOrDefault);
export const mappingRule = objectOf(ruleOf(stringConstant, dataSourceIsNamed));
export const propertiesRule = objectOf(ruleOf(z.json(), optionalOrDefault));
