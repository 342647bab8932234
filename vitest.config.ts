import { defineConfig, type TestProjectConfiguration } from "vitest/config";
import type { DatabaseKind } from "./test/support/database-server.ts";
import { tally } from "./test/support/tally.ts";

const EVERYTHING = ["test/**/*.test.ts"];
/** What runs a second time, with `freshDatabase()` on MySQL. */
const ON_MYSQL_TOO = [
  "test/adapters/sql/**/*.test.ts",
  "test/e2e/**/*.test.ts",
  "test/support/fresh-database.test.ts",
];

export default defineConfig({
  test: {
    projects: [tests("postgres", EVERYTHING), tests("mysql", ON_MYSQL_TOO)],
    // Here and not in the projects: the servers are for all of them.
    globalSetup: ["test/support/databases.ts"],
    reporters: ["default", tally],
    // Two cores and one server of a kind: files run beside each other, but not many.
    maxWorkers: 2,
  },
});

function tests(databaseKind: DatabaseKind, include: string[]): TestProjectConfiguration {
  return {
    test: {
      name: databaseKind,
      include,
      provide: { databaseKind },
      // Against a test that hangs: slow machines have run the slowest at a third of this.
      testTimeout: 180_000,
      hookTimeout: 180_000,
    },
  };
}
