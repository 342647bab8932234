import { expect, test } from "vitest";
import { parse } from "yaml";

import {
  parseSecretPath,
  SECRET_NAMING,
  type SecretStoreKind,
  secretName,
} from "../../src/core/tokens/secrets.ts";
import { pageText, yamlBlocks } from "../support/pages.ts";
import { loadTokens } from "./load-tokens.ts";

const PAGES = ["docs/tokens.md", "docs/secret-stores.md"];
const STORES = Object.keys(SECRET_NAMING) as SecretStoreKind[];

const blocks = PAGES.flatMap((page) =>
  yamlBlocks(page)
    .filter((yaml) => yaml.startsWith("tokens:\n"))
    .map((yaml): [page: string, yaml: string] => [page, yaml]),
);

const env = { VAULT_TOKEN: "t", VAULT_SECRET_ID: "s", TOKENS_DATABASE_URL: "postgres://localhost/tokens" };
const load = (yaml: string) => loadTokens(parse(yaml).tokens, env);

/** The cells of the row that begins with this store, in the table with this heading. */
function rowOf(heading: string, store: string): string[] {
  const [, table = ""] =
    new RegExp(`^## ${heading}$(.*?)^##? `, "ms").exec(
      pageText("docs/secret-stores.md").replaceAll("### ", "## "),
    ) ?? [];
  const row = table.split("\n").find((line) => line.startsWith(`| \`${store}\` |`)) ?? "";
  return row.split("|").map((cell) => cell.trim());
}

test.each(blocks)("a config of %s loads, as it stands and with what is behind a #: %s", (_, yaml) => {
  expect(load(yaml).length).toBeGreaterThan(0);
  const options = yaml.replace(/^( *)# (\w+: )/gm, "$1$2");
  expect(load(options).length).toBeGreaterThan(0);
});

test("there is a config for each store", () => {
  const stores = new Set<string>(blocks.flatMap(([, yaml]) => load(yaml).map(({ store }) => store)));
  expect([...stores].sort()).toEqual(["table", ...STORES].sort());
});

test.each(STORES)("the rule for the names of %s is the one on the page", (store) => {
  const [, , plain = "", ...rest] = rowOf("Names", store);
  const { escape: sign, hex, longest } = SECRET_NAMING[store];
  const path = parseSecretPath("{{ user_group_id }}") ?? ["", ""];
  const digits = hex === "upper" ? "0-9A-F" : "0-9a-f";
  const example = secretName("cus_1/A", path, SECRET_NAMING[store]);
  expect(rest).toEqual([`\`${sign}\``, `\`${digits}\``, `${longest}`, `\`${example}\``, ""]);
  const printable = Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index));
  expect(printable.filter((char) => SECRET_NAMING[store].plain.test(char)).join("")).toBe(charsOf(plain));
});

/** The characters that a cell of the page names, in the order of ASCII. */
function charsOf(cell: string): string {
  const WORDS = {
    letters: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
    "small letters": "abcdefghijklmnopqrstuvwxyz",
    digits: "0123456789",
  };
  const named = cell.split(", ").map((word) => WORDS[word as keyof typeof WORDS] ?? word.replaceAll("`", ""));
  return [...named.join("")].sort().join("");
}
