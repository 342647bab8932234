import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { OPTIONAL_PACKAGES } from "../../src/adapters/token-stores/secrets/optional-package.ts";
import { SECRET_NAMING } from "../../src/core/tokens/secret-name-rules.ts";
import { loadTokens } from "./load-tokens.ts";

const page = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const configsIn = (text: string) =>
  [...text.matchAll(/^```yaml\n(tokens:\n[^`]*)^```/gm)].map(([, yaml = ""]) => yaml);

const readme = page("README.md");
const blocks = configsIn(readme);

const load = (yaml: string) => loadTokens(parse(yaml).tokens, { VAULT_TOKEN: "t", VAULT_SECRET_ID: "s" });

test.each([...blocks, ...configsIn(page("docs/token-files.md"))])(
  "a config of the docs loads, as it stands and with what is behind a #: %s",
  (yaml) => {
    expect(load(yaml).length).toBeGreaterThan(0);
    const options = yaml.replace(/^( *)# (\w+: )/gm, "$1$2");
    expect(load(options).length).toBeGreaterThan(0);
  },
);

test("there is one for each secret store", () => {
  const stores = new Set<string>(blocks.flatMap((yaml) => load(yaml).map(({ store }) => store)));
  expect([...stores].sort()).toEqual(["table", ...Object.keys(SECRET_NAMING)].sort());
});

test("its table names the packages that each needs", () => {
  for (const [store, packages] of Object.entries(OPTIONAL_PACKAGES)) {
    const row = new RegExp(`^\\| \`${store}\` \\| [^|]+ \\| \`(.+?)\` `, "m").exec(readme);
    expect(row?.[1]).toBe(packages.join(" "));
  }
});
