import { CONFIG_KEYS, RULE_KEYS } from "./config-keys.ts";
import { type Description, type Descriptions, describing } from "./description.ts";

/** The part of a JSON Schema that is looked at here. */
export interface SchemaNode {
  description?: string;
  readonly const?: unknown;
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly anyOf?: readonly unknown[];
  readonly items?: unknown;
  readonly additionalProperties?: unknown;
}

/** Writes into the JSON Schema of a config what each key means. */
export function describeConfig(schema: SchemaNode): void {
  describeKeys(schema, CONFIG_KEYS);
}

function describeKeys(schema: SchemaNode, descriptions: Descriptions): void {
  for (const section of sectionsIn(schema)) {
    for (const [key, node] of propertiesOf(section)) {
      const found = descriptions[key];
      if (found === undefined) continue;
      const description = describing(found);
      node.description = editorText(description);
      describeInside(node, description);
    }
  }
}

function describeInside(node: SchemaNode, { keys, kinds }: Description): void {
  if (keys !== undefined) describeKeys(node, keys);
  for (const section of sectionsIn(node)) {
    const kind = kinds === undefined ? undefined : kindOf(section, Object.keys(kinds));
    if (kind !== undefined) describeKeys(section, kinds?.[kind] ?? {});
    else if (isRule(section)) describeKeys(section, RULE_KEYS);
  }
}

/** The maps that a value may be: the schema itself, one of several, an entry of a list, a value behind any key. */
export function sectionsIn(schema: SchemaNode): SchemaNode[] {
  if (schema.properties !== undefined) return [schema];
  const inside = [...(schema.anyOf ?? []), schema.items, schema.additionalProperties];
  return inside.filter(isNode).flatMap(sectionsIn);
}

export const propertiesOf = ({ properties = {} }: SchemaNode): [key: string, node: SchemaNode][] =>
  Object.entries(properties).flatMap(([key, node]) => (isNode(node) ? [[key, node]] : []));

/** Of the kinds that a section may be, the one that it is: one of its keys can have no other value. */
export function kindOf(section: SchemaNode, kinds: readonly string[]): string | undefined {
  const values = propertiesOf(section).flatMap(([, node]) => constantsOf(node));
  return kinds.find((kind) => values.includes(kind));
}

const constantsOf = ({ const: constant, anyOf = [] }: SchemaNode): unknown[] =>
  constant === undefined ? anyOf.filter(isNode).flatMap(constantsOf) : [constant];

const isRule = (section: SchemaNode): boolean =>
  Object.keys(section.properties ?? {}).join() === Object.keys(RULE_KEYS).join();

const isNode = (value: unknown): value is SchemaNode => typeof value === "object" && value !== null;

const editorText = ({ text, otherwise, see }: Description): string =>
  [text, ...(otherwise ? [`If left out: ${otherwise}.`] : []), ...(see ? [`See docs/${see}.`] : [])]
    .join(" ")
    .replaceAll("`", "");
