import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { OPTIONAL_PACKAGES } from "../../src/adapters/token-stores/optional-package.ts";
import { loadConfig } from "../../src/config/load.ts";
import { SECRET_NAMING } from "../../src/core/secret-naming-by-store.ts";

const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
const blocks = [...readme.matchAll(/^```yaml\n(tokens:\n[^`]*)^```/gm)].map(([, yaml = ""]) => yaml);

const load = (tokens: string) =>
  loadConfig("config.yaml", {
    env: { VAULT_TOKEN: "t", VAULT_SECRET_ID: "s" },
    readFile: () => {
      const config = {
        service: { base_url: "https://dashboards.example.com", api_key: "k3y" },
        source: { url: "postgres://db/crm", table: "customers" },
        group: { id: "id", name: "company_name" },
        ...parse(tokens),
      };
      return stringify(config);
    },
  }).tokens;

test.each(blocks)("a config of the README's loads, as it stands and with what is behind a #: %s", (yaml) => {
  expect(load(yaml).length).toBeGreaterThan(0);
  const options = yaml.replace(/^( *)# (\w+: )/gm, "$1$2");
  expect(load(options).length).toBeGreaterThan(0);
});

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
