import { stringify } from "yaml";
import { declaredSchema, type KeySchema } from "../../src/config/json-schema.ts";
import { kindKey, kindOf, propertiesOf, sectionsIn, typeOf } from "./config-reference.ts";

const WIDTH = 120;

const HEADER = `# yaml-language-server: $schema=./groupsync.schema.json
# Editors check and complete this file by the line above: groupsync schema > groupsync.schema.json
# docs/configuration.md has the keys of secret stores. \`npm run docs\` writes this file from the keys' declarations.
#
# groupsync keeps the user groups of a dashboard service equal to the tenants in your database,
# and every group's token where your application can read it.
#
# Required are service.base_url, service.api_key, source.url, source.table (or query), group.id and group.name.
# The other values are the defaults, and can be left out; keys behind a # are off.
#
#   \${NAME}            the environment variable NAME; not set or empty is an error
#   \${NAME:-default}   the same with a default
#   \${file:/run/key}   the content of a file, without its last newline
#   $$                 a dollar
#
# A duration is a number and a unit: 500ms, 15s, 5m, 24h, 90d; or a bare 0. A rule in group is one of
#
#   plan                                            a column
#   "{{ region }}-{{ plan }}"                       a template, always text
#   { value: gold }                                 a constant
#   { column: plan, default: free }                 a column, and what stands in for its null
#   { column: logo_url, optional: true }            a column whose null leaves the key out
#   { template: "{{ region }}-x", optional: true }  the same for a template
`;

/** config.example.yaml: every key with what it means, and its default or an example. */
export const configExample = (): string =>
  [HEADER, ...propertiesOf(declaredSchema()).map(([key, schema]) => entry(key, schema, true))]
    .join("\n")
    .replaceAll(/^ +$/gm, "");

/** A key with its comment, as lines. */
function entry(key: string, schema: KeySchema, isRequired: boolean): string {
  const [section, ...others] = sectionsIn(schema);
  if (section === undefined) return comment(wrapped(textOf(schema))) + written(key, schema, isRequired);
  const kinds = others.map((other) => kindOf(kindKey(other)?.[1] ?? {}));
  const text =
    kinds.length === 0
      ? textOf(schema)
      : `${textOf(schema)} The other kinds are ${kinds.join(", ")}: see docs/configuration.md.`;
  const inside = propertiesOf(section).map(([name, inner]) =>
    entry(name, inner, section.required?.includes(name) === true),
  );
  return `${comment(wrapped(text))}${key}:\n${indented(inside.join(""))}`;
}

/** The key with its value. Behind a # if the value is an example, and not what holds without the key. */
function written(key: string, schema: KeySchema, isRequired: boolean): string {
  const { otherwise, example, default: usual = kindOf(schema) } = schema;
  if (typeof example === "object" && example !== null && !Array.isArray(example)) {
    const rules = Object.entries(example).map(
      ([name, rule]) => `"${name}": ${yamlOf(rule, "flow").trimEnd()}`,
    );
    return `${key}:\n${comment(rules.join("\n"), "#   ")}`;
  }
  if (usual !== undefined) return yamlOf({ [key]: usual });
  const shown = yamlOf({ [key]: example });
  return isRequired || otherwise?.startsWith("required") ? shown : comment(shown.trimEnd(), "# ");
}

const yamlOf = (value: unknown, collectionStyle: "any" | "flow" = "any"): string =>
  stringify(value, { lineWidth: 0, collectionStyle });

/** In plain text, with each choice on a line of its own, and with the page that says more. */
function textOf(schema: KeySchema): string {
  const { description = "", otherwise, see } = schema;
  const needsWords = schema.default === undefined && kindOf(schema) === undefined;
  const says = needsWords && otherwise !== undefined && !otherwise.startsWith("required");
  const choices = description.replaceAll(/ (?=`\w+`: )/g, "\n  ");
  const more = [
    ...limitOf(schema),
    ...(says ? [`If left out: ${otherwise}.`] : []),
    ...(see === undefined ? [] : [`See docs/${see}.`]),
  ].join(" ");
  return [choices, ...(more === "" ? [] : [more])]
    .join(choices.includes("\n") ? "\n" : " ")
    .replaceAll("`", "");
}

/** What a duration or a number may be, if that is less than anything. */
function limitOf(schema: KeySchema): string[] {
  const [limits] = /^an? (?:duration|whole number|number) .*?(?=, like |$)/.exec(typeOf(schema)) ?? [];
  return limits === undefined ? [] : [`${limits.replace("a", "A")}.`];
}

const comment = (text: string, mark = "# "): string =>
  text
    .split("\n")
    .map((line) => `${mark}${line}`.trimEnd().concat("\n"))
    .join("");

/** Lines that leave room for the indentation and the #. A paragraph keeps its own indentation. */
const wrapped = (text: string): string => text.split("\n").map(wrappedLine).join("\n");

function wrappedLine(text: string): string {
  const [indentation = ""] = /^ */.exec(text) ?? [];
  const lines: string[] = [];
  for (const word of text.trim().split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= WIDTH - 6)
      lines[lines.length - 1] += ` ${word}`;
    else lines.push(indentation + word);
  }
  return lines.join("\n");
}

const indented = (text: string): string => text.replaceAll(/^(?=.)/gm, "  ");
