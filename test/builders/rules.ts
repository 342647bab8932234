import type { ColumnRule, ConstantRule, GroupRules, TemplateRule } from "../../src/core/group/group-rules.ts";
import type { Json } from "../../src/core/text/json.ts";

export const column = (name: string, more: Partial<ColumnRule> = {}): ColumnRule => ({
  kind: "column",
  column: name,
  optional: false,
  ...more,
});

export const constant = (value: Json): ConstantRule => ({ kind: "constant", value });

export const template = (parts: TemplateRule["parts"], optional = false): TemplateRule => ({
  kind: "template",
  parts,
  optional,
});

/** Rows are `[id, name]` unless a test says otherwise. */
export const someRules = (overrides: Partial<GroupRules> = {}): GroupRules => ({
  id: "id",
  name: column("name"),
  mapping: { kind: "keys", keys: {} },
  properties: { kind: "keys", keys: {} },
  ...overrides,
});
