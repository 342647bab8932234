import type { Json } from "../text/json.ts";

/** How one value of a group is computed from the columns of a tenant row. */
export type Rule = ColumnRule | TemplateRule | ConstantRule;

export interface ColumnRule {
  readonly kind: "column";
  readonly column: string;
  /** If true, null leaves the key out. If false, null rejects the row in `name` and `mapping`, and is sent in `properties`. */
  readonly optional: boolean;
  /** Used if the column is null. */
  readonly default?: Json;
}

export interface TemplateRule {
  readonly kind: "template";
  /** Literal text and column references in order, e.g. `"wh-{{ region }}"` → `["wh-", { column: "region" }]`. */
  readonly parts: readonly (string | { readonly column: string })[];
  readonly optional: boolean;
}

export interface ConstantRule {
  readonly kind: "constant";
  readonly value: Json;
}

/** A rule for each key, or the one JSON column that holds the whole object. */
export type ObjectRule =
  | { readonly kind: "keys"; readonly keys: Readonly<Record<string, Rule>> }
  | { readonly kind: "json"; readonly column: string };

/** The `group` section of the config. `id` is always a column: the database has to order by it. */
export interface GroupRules {
  readonly id: string;
  readonly name: Rule;
  readonly mapping: ObjectRule;
  readonly properties: ObjectRule;
  /** Sent when the group is deleted: the data source that the group is associated with. */
  readonly dataSourceId?: Rule;
}

const PLACEHOLDER = /\{\{([^{}]*)\}\}/g;

/** Whether the text has braces of a template, complete or not: half a template is a mistake, not a column name. */
export const isTemplate = (text: string): boolean => text.includes("{{") || text.includes("}}");

/** Returns undefined if the braces don't pair up or a placeholder is empty. */
export function parseTemplate(text: string): TemplateRule["parts"] | undefined {
  const parts: (string | { column: string })[] = [];
  let end = 0;
  for (const match of text.matchAll(PLACEHOLDER)) {
    const column = match[1]?.trim();
    if (!column) return undefined;
    if (match.index > end) parts.push(text.slice(end, match.index));
    parts.push({ column });
    end = match.index + match[0].length;
  }
  if (end < text.length) parts.push(text.slice(end));
  const stray = parts.some((part) => typeof part === "string" && /\{\{|\}\}/.test(part));
  return stray ? undefined : parts;
}

/** The columns that the rules read, each once; the id comes first. */
export function columnsOf(rules: GroupRules): readonly string[] {
  const ofRule = (rule: Rule): readonly string[] => {
    switch (rule.kind) {
      case "column":
        return [rule.column];
      case "template":
        return rule.parts.flatMap((part) => (typeof part === "string" ? [] : [part.column]));
      case "constant":
        return [];
    }
  };
  const ofObject = (rule: ObjectRule): readonly string[] =>
    rule.kind === "json" ? [rule.column] : Object.values(rule.keys).flatMap(ofRule);
  const used = [
    rules.id,
    ...ofRule(rules.name),
    ...ofObject(rules.mapping),
    ...ofObject(rules.properties),
    ...(rules.dataSourceId ? ofRule(rules.dataSourceId) : []),
  ];
  return [...new Set(used)];
}
