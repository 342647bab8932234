import { declaredSchema, type KeySchema } from "../../src/config/json-schema.ts";
import { markdownTable } from "./markdown-table.ts";

/** One key of the config, as it is declared. */
export interface ConfigKey {
  /** Below its heading: `timeout`, `limit.count`. */
  readonly key: string;
  readonly schema: KeySchema;
  readonly isRequired: boolean;
  /** The words before its description. */
  readonly when?: string;
  /** What holds in each kind of section, if they differ. */
  readonly defaults?: string;
}

/** The keys under one heading. */
interface ConfigSection {
  readonly heading: string;
  readonly text: string;
  readonly keys: readonly ConfigKey[];
}

/**
 * The reference of the keys that config.example.yaml doesn't show: those of all token stores but the table. A value's example
 * stands beside the first key alone.
 */
export function storeReference(): string {
  const shown = new Set<string>();
  const valueText = ({ schema }: ConfigKey): string => {
    const value = typeOf(schema);
    const isNew = !shown.has(value);
    shown.add(value);
    if (CHOICES.test(value)) return value;
    return isNew ? (/, like (.+)/.exec(value)?.[1] ?? "") : "";
  };
  const stores = propertiesOf(declaredSchema()).filter(([name]) => name === "tokens");
  return stores
    .flatMap(([name, schema]) => sectionsOf(name, schema))
    .filter(({ heading }) => !heading.includes("store: table"))
    .map(({ heading, text, keys }) =>
      [heading, ...(text === "" ? [] : [text]), tableOf(keys, valueText)].join("\n\n"),
    )
    .join("\n");
}

/** What a value may be, if it is one of a few words. */
const CHOICES = /^`.*`$/;

const tableOf = (keys: readonly ConfigKey[], valueText: (key: ConfigKey) => string): string =>
  markdownTable(
    ["key", "value, for example", "default", "meaning"],
    keys.map((one) => [`\`${one.key}\``, valueText(one), one.defaults ?? defaultOf(one), meaningOf(one)]),
  );

export function configSections(): ConfigSection[] {
  const all = propertiesOf(declaredSchema());
  const isSimple = ([, schema]: [string, KeySchema]): boolean => sectionsIn(schema).length === 0;
  return [
    {
      heading: "### The file itself",
      text: "These keys stand at the left margin, beside the sections.",
      keys: keysBelow({ ...declaredSchema(), properties: Object.fromEntries(all.filter(isSimple)) }),
    },
    ...all.filter((entry) => !isSimple(entry)).flatMap(([name, schema]) => sectionsOf(name, schema)),
  ];
}

function sectionsOf(name: string, schema: KeySchema): ConfigSection[] {
  const heading = `### \`${name}\``;
  const text = described(schema);
  const [section, ...others] = sectionsIn(schema);
  if (section === undefined) return [];
  if (others.length === 0) return [{ heading, text, keys: keysBelow(section) }];
  const kinds = [section, ...others].map((one): Kind => {
    const [key = "", kind = {}] = kindKey(one) ?? [];
    return { key, kind, name: String(kindOf(kind)), keys: keysBelow(one) };
  });
  const shared = sharedKeys(kinds);
  const sharedIds = new Set(shared.map(({ key, schema }) => `${key}: ${described(schema)}`));
  return [
    {
      heading: "### Keys of several stores",
      text: "",
      keys: shared,
    },
    ...kinds.map(({ key, kind, name, keys }) => ({
      heading: `### \`${key}: ${name}\``,
      text: linked(kind),
      keys: keys.filter((one) => !sharedIds.has(idOf(one))),
    })),
  ];
}

/** One kind of a section, such as one token store. */
interface Kind {
  readonly key: string;
  readonly kind: KeySchema;
  readonly name: string;
  readonly keys: readonly ConfigKey[];
}

/** The keys that at least three kinds have with one meaning, each once. */
function sharedKeys(kinds: readonly Kind[]): ConfigKey[] {
  const all = kinds.flatMap(({ name, keys }) => keys.map((one) => ({ name, one, id: idOf(one) })));
  return [...new Set(all.map(({ id }) => id))].flatMap((id) => {
    const having = all.filter((other) => other.id === id);
    const [first] = having;
    if (first === undefined || having.length < 3) return [];
    const namesOf = (some: typeof having): string => some.map(({ name }) => name).join(", ");
    const values = [...new Set(having.map(({ one }) => defaultOf(one)))];
    const defaults = values.map(
      (value) => `${value} (${namesOf(having.filter(({ one }) => defaultOf(one) === value))})`,
    );
    const others = kinds.filter(({ name }) => !having.some((one) => one.name === name));
    const isMost = having.length > others.length;
    const where = isMost
      ? `All stores but ${others.map(({ name }) => name).join(", ")}: `
      : `With ${namesOf(having)}: `;
    return [
      {
        ...first.one,
        ...(others.length > 0 && { when: where }),
        ...(values.length > 1 && { defaults: defaults.join(", ") }),
      },
    ];
  });
}

/** Keys with one name and one meaning are one key. */
const idOf = (one: ConfigKey): string => `${one.key}: ${meaningOf(one)}`;

/** The keys of a section, and those of the sections in it. The heading says of which kind a section is. */
function keysBelow(section: KeySchema, prefix = "", when?: string): ConfigKey[] {
  const [kind] = kindKey(section) ?? [];
  return propertiesOf(section)
    .filter(([key]) => key !== kind)
    .flatMap(([key, schema]) => {
      const isRequired = section.required?.includes(key) === true;
      const one = { key: prefix + key, schema, isRequired, ...(when !== undefined && { when }) };
      const inside = sectionsIn(schema).flatMap((inner) => {
        const [method, kind] = kindKey(inner) ?? [];
        const words = kind && `With \`${method}: ${kindOf(kind)}\`: `;
        return keysBelow(inner, `${prefix}${key}.`, words);
      });
      return [one, ...inside];
    });
}

/**
 * The sections that a value may be: one, or one for each kind. None if the value may be anything else. A list of token
 * stores has the same kinds as a single store.
 */
export function sectionsIn(schema: KeySchema): KeySchema[] {
  if (schema.properties !== undefined) return [schema];
  const forms = (schema.anyOf ?? []).filter(isSchema);
  const inside = forms.filter(({ type }) => type !== "null" && type !== "array").map(sectionsIn);
  return inside.every((sections) => sections.length > 0) ? inside.flat() : [];
}

export const propertiesOf = ({ properties = {} }: KeySchema): [key: string, schema: KeySchema][] =>
  Object.entries(properties).flatMap(([key, schema]) => (isSchema(schema) ? [[key, schema]] : []));

/** The key that says of which kind a section is: it can have one value only. */
export const kindKey = (section: KeySchema): [key: string, schema: KeySchema] | undefined =>
  propertiesOf(section).find(([, schema]) => kindOf(schema) !== undefined);

export const kindOf = ({ const: kind, anyOf = [] }: KeySchema): unknown =>
  kind ?? anyOf.filter(isSchema).find((form) => form.const !== undefined)?.const;

const isSchema = (value: unknown): value is KeySchema => typeof value === "object" && value !== null;

const described = ({ description = "", see }: KeySchema): string =>
  see === undefined ? description : `${description} See [${see}](${see}).`;

/** The description as a link to the page that says more. */
const linked = ({ description = "", see = "" }: KeySchema): string =>
  `[${description.replace(/\.$/, "")}](${see}).`;

const meaningOf = ({ schema, when = "" }: ConfigKey): string => when + described(schema);

export function defaultOf({ schema, isRequired }: ConfigKey): string {
  if (sectionsIn(schema).length > 0) return "";
  if (schema.default !== undefined) return `\`${textOf(schema.default)}\``;
  return schema.otherwise ?? (isRequired ? "required" : "");
}

/** What the value may be, in the words with which the program refuses another one. */
export function typeOf(schema: KeySchema): string {
  if (sectionsIn(schema).length > 0) return "a section";
  const forms = [schema, ...(schema.anyOf ?? []).filter(isSchema)];
  const choices = forms.flatMap(({ enum: values, const: constant }) => values ?? constant ?? []);
  if (choices.length > 0) return listed(choices.map((value) => `\`${textOf(value)}\``));
  if (forms.some(({ type }) => type === "boolean")) return "`true` or `false`";
  const { what = "", remedy = "" } = forms.find((form) => form.what !== undefined) ?? {};
  const [, example] = /^write it like (.+)/.exec(remedy) ?? [];
  if (example === undefined) return what;
  return `${what}, like ${/^[^ "]+$/.test(example) ? `\`${example}\`` : example}`;
}

const listed = (words: readonly string[]): string =>
  words.join(", ").replace(/, ([^,]*)$/, words.length > 1 ? " or $1" : ", $1");

const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));
