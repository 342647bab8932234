import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

interface Locked {
  readonly dev?: boolean;
  readonly hasInstallScript?: boolean;
}

/** Of a package.json, as far as it matters here. */
interface Manifest {
  readonly license?: unknown;
  readonly scripts?: Readonly<Record<string, string>>;
}

const textOf = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), "utf8");
const read = (path: string) => JSON.parse(textOf(path));

/**
 * What `npm ci --omit=dev` installs, and so all that can be in the bundle. The clients of the secret stores are development
 * packages here: an operator installs those of the store in use.
 */
const production = Object.entries<Locked>(read("package-lock.json").packages).filter(
  ([path, { dev }]) => path !== "" && !dev,
);
const manifestOf = (path: string): Manifest => read(`${path}/package.json`);

/** They ask for a notice at most. */
const LICENSES = ["0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BlueOak-1.0.0", "ISC", "MIT"];
const INSTALL_SCRIPTS = ["preinstall", "install", "postinstall"];

test("no production package runs a script when it is installed", () => {
  expect(production.length).toBeGreaterThan(0);
  const withScript = production.filter(
    ([path, { hasInstallScript }]) =>
      hasInstallScript || INSTALL_SCRIPTS.some((name) => manifestOf(path).scripts?.[name] !== undefined),
  );
  expect(withScript.map(([path]) => path)).toEqual([]);
});

test("each production package has a licence that asks for a notice at most", () => {
  const others = production
    .map(([path]) => ({ path, license: manifestOf(path).license }))
    .filter(({ license }) => typeof license !== "string" || !LICENSES.includes(license));
  expect(others).toEqual([]);
});

test("the docs say how many there are, and under which licences", () => {
  const page = textOf("docs/security.md");
  expect(page).toContain(`installs ${production.length} packages`);
  const used = new Set(production.map(([path]) => String(manifestOf(path).license)));
  expect([...used].filter((license) => !page.includes(license))).toEqual([]);
});
