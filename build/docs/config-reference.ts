import { CONFIG_KEYS } from "../../src/config/descriptions/config-keys.ts";
import {
  kindOf,
  propertiesOf,
  type SchemaNode,
  sectionsIn,
} from "../../src/config/descriptions/describe-keys.ts";
import {
  type Description,
  type Descriptions,
  describing,
} from "../../src/config/descriptions/description.ts";
import { configJsonSchema } from "../../src/config/schema/json-schema.ts";
import { configSchema } from "../../src/config/schema/schema.ts";
import { markdownTable } from "./markdown-table.ts";

/** One key of the config. */
export interface ConfigKey {
  /** Below its heading: `timeout`, `limit.count`. */
  readonly key: string;
  readonly type: string;
  /** The default, what holds if the key is left out, or `required`; undefined if the schema and the description say nothing. */
  readonly otherwise: string | undefined;
  /** Undefined if the key has no description. */
  readonly meaning: string | undefined;
}

/** The keys under one heading. */
export interface ConfigSection {
  readonly heading: string;
  readonly text: string;
  readonly keys: readonly ConfigKey[];
}

interface Section extends SchemaNode {
  readonly required?: readonly string[];
}

interface Leaf extends SchemaNode {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
}

/** The reference of every key, section by section. */
export const configReference = (): string =>
  configSections()
    .map(({ heading, text, keys }) => `${heading}\n\n${text}\n\n${tableOf(keys)}`)
    .join("\n");

const tableOf = (keys: readonly ConfigKey[]): string =>
  markdownTable(
    ["key", "value", "default", "meaning"],
    keys.map(({ key, type, otherwise = "", meaning = "" }) => [`\`${key}\``, type, otherwise, meaning]),
  );

export function configSections(): ConfigSection[] {
  const whole = configJsonSchema() as SchemaNode;
  const isSection = ([key]: [string, SchemaNode]): boolean => {
    const { keys, kinds } = describing(CONFIG_KEYS[key] ?? "");
    return keys !== undefined || kinds !== undefined;
  };
  const simple = propertiesOf(whole).filter((entry) => !isSection(entry));
  return [
    {
      heading: "### The file itself",
      text: "These keys stand at the left margin, beside the sections.",
      keys: simple.flatMap(([key, node]) => keysOf([key], key, node, CONFIG_KEYS[key], false)),
    },
    ...propertiesOf(whole).filter(isSection).flatMap(sectionsOf),
  ];
}

function sectionsOf([name, node]: [string, SchemaNode]): ConfigSection[] {
  const description = describing(CONFIG_KEYS[name] ?? "");
  const { keys = {}, kinds } = description;
  const heading = `### \`${name}\``;
  if (kinds === undefined) {
    return sectionsIn(node).map((section) => ({
      heading,
      text: meaningOf(description),
      keys: keysBelow([name], "", section, keys),
    }));
  }
  // A list of stores, and a single store in place of it, have the same kinds.
  const byKind = new Map(sectionsIn(node).map((section) => [kindOf(section, Object.keys(kinds)), section]));
  return [...byKind].map(([kind = "", section], index) => {
    const { store = "", ...texts } = kinds[kind] ?? {};
    const title = `#### \`store: ${kind}\``;
    return {
      heading: index === 0 ? `${heading}\n\n${meaningOf(description)}\n\n${title}` : title,
      text: meaningOf(describing(store)),
      keys: keysBelow([name, 0, { store: kind }], "", section, texts),
    };
  });
}

/** A key of a map, the place in a list, or the key that says which kind of map it is. */
type Step = string | number | Readonly<Record<string, string>>;

function keysBelow(
  path: readonly Step[],
  prefix: string,
  section: Section,
  texts: Descriptions,
): ConfigKey[] {
  const kind = path.at(-1);
  // The heading, or the text, says the kind already.
  const isKind = (key: string): boolean => typeof kind === "object" && key in kind;
  return propertiesOf(section)
    .filter(([key]) => !isKind(key))
    .flatMap(([key, node]) =>
      keysOf([...path, key], prefix + key, node, texts[key], section.required?.includes(key) === true),
    );
}

function keysOf(
  path: readonly Step[],
  key: string,
  node: Leaf,
  text: Description | string | undefined,
  isRequired: boolean,
): ConfigKey[] {
  const description = text === undefined ? undefined : describing(text);
  const { keys, kinds } = description ?? {};
  const inside =
    keys === undefined
      ? sectionsOfKinds(path, key, node, kinds)
      : sectionsIn(node).flatMap((section) => keysBelow(path, `${key}.`, section, keys));
  return [
    {
      key,
      type: inside.length > 0 ? "a section" : typeOf(path, node),
      otherwise: inside.length > 0 ? "" : defaultOf(node, description, isRequired),
      meaning: description && meaningOf(description),
    },
    ...inside,
  ];
}

/** The keys of each kind that a section may be. */
function sectionsOfKinds(
  path: readonly Step[],
  key: string,
  node: SchemaNode,
  kinds: Readonly<Record<string, Descriptions>> = {},
): ConfigKey[] {
  return sectionsIn(node).flatMap((section) => {
    const kind = kindOf(section, Object.keys(kinds));
    if (kind === undefined) return [];
    const below = keysBelow([...path, { method: kind }], `${key}.`, section, kinds[kind] ?? {});
    return below.map((one) => ({
      ...one,
      meaning: one.meaning && `With \`method: ${kind}\`: ${one.meaning}`,
    }));
  });
}

const meaningOf = ({ text, see }: Description): string =>
  see === undefined ? text : `${text} See [${see}](${see}).`;

function defaultOf(
  node: Leaf,
  description: Description | undefined,
  isRequired: boolean,
): string | undefined {
  if (node.default !== undefined) return `\`${textOf(node.default)}\``;
  return isRequired && description?.otherwise === undefined ? "required" : description?.otherwise;
}

const listed = (words: readonly string[]): string =>
  words.join(", ").replace(/, ([^,]*)$/, words.length > 1 ? " or $1" : ", $1");

const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

/** What the value may be, in the words with which the program refuses another one. */
function typeOf(path: readonly Step[], node: Leaf): string {
  const alternatives = [node, ...((node.anyOf ?? []) as readonly Leaf[])];
  const choices = alternatives.flatMap(({ enum: values, const: constant }) => values ?? constant ?? []);
  if (choices.length > 0) return listed(choices.map((value) => `\`${textOf(value)}\``));
  if (alternatives.some(({ type }) => type === "boolean")) return "`true` or `false`";
  const { what, example } = refusalOf(path);
  if (example === undefined) return what;
  return `${what}, like ${/^[^ "]+$/.test(example) ? `\`${example}\`` : example}`;
}

/** A value that no key takes but those that take `true`. */
const WRONG = true;

function refusalOf(path: readonly Step[]): { readonly what: string; readonly example: string | undefined } {
  const { error } = configSchema.safeParse(planted(path));
  const place = path.filter((step) => typeof step !== "object").join(".");
  const message = error?.issues.find((issue) => issue.path.join(".") === place)?.message;
  if (message === undefined) throw new Error(`${place}: the schema doesn't refuse ${WRONG}`);
  const [, what, , example] = /^\S+ is not (.+?); (write it like (.+))?/.exec(message) ?? [];
  return { what: what ?? message.replace(/^write /, ""), example };
}

/** A config that has a wrong value at this path. */
const planted = (path: readonly Step[]): unknown =>
  path.reduceRight<unknown>((inner, step) => {
    if (typeof step === "object") return { ...step, ...(inner as object) };
    return typeof step === "number" ? [inner] : { [step]: inner };
  }, WRONG);
