import { readFileSync } from "node:fs";
import { posix } from "node:path";
import { expect, test } from "vitest";
import { neededBy, readSource } from "./support/source-text.ts";

/** The packages that have to be loaded before this file of src can run. */
function packagesBehind(entry: string): string[] {
  const packages = new Set<string>();
  const files = new Set([entry]);
  for (const file of files) {
    const text = readFileSync(new URL(`../src/${file}`, import.meta.url), "utf8");
    for (const name of neededBy(readSource(text))) {
      if (name.startsWith(".")) files.add(posix.join(posix.dirname(file), name));
      else if (!name.startsWith("node:")) packages.add(name);
    }
  }
  return [...packages].sort();
}

// Each of them takes a noticeable part of the time in which Node.js itself starts.
test.each([
  ["--help and --version", "cli.ts", ["commander"]],
  ["the log", "compose/observer.ts", ["pino"]],
  ["the config", "compose/config.ts", ["croner", "leven", "yaml", "zod"]],
  ["what sync needs of all kinds of databases and stores", "compose/sync.ts", []],
  ["what plan needs of them", "compose/plan.ts", []],
  ["what status needs of them", "compose/databases.ts", []],
  ["PostgreSQL", "adapters/postgres/database.ts", ["pg", "pg-cursor"]],
  ["MySQL", "adapters/mysql/database.ts", ["mysql2"]],
  [
    "the service",
    "adapters/service/http-group-service.ts",
    ["undici/lib/core/errors.js", "undici/lib/dispatcher/pool.js", "zod"],
  ],
])("%s: no other packages are loaded", (_, entry, packages) => {
  expect(packagesBehind(entry)).toEqual(packages);
});
