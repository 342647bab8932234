import { defineConfig, type TestProjectConfiguration } from "vitest/config";
import type { DatabaseKind } from "./test/support/databases/database-server.ts";
import { LONG } from "./test/support/long.ts";
import { LongestFirst } from "./test/support/longest-first.ts";
import { tally } from "./test/support/tally.ts";

const EVERYTHING = ["test/**/*.test.ts"];
/** They take minutes: a long run has them, and a run that names their folder. */
const INSTALLATIONS = "test/installations/installations.test.ts";
const LEAVES_OUT =
  LONG || process.argv.some((word) => word.startsWith("test/installations")) ? [] : [INSTALLATIONS];
/** What runs a second time, with `freshDatabase()` on MySQL. */
const ON_MYSQL_TOO = [
  // Every statement that the program has, locks and fences included: the contracts that both dialects fulfil.
  "test/adapters/sql/**/*.test.ts",
  "test/support/databases/fresh-database.test.ts",
  ...endToEndOnMysql(),
];

/**
 * Above the adapters the program doesn't know which database it has. In a whole program on MySQL remains to be shown
 * what SQL, locks and connections decide there. `npm run test:long` shows everything on MySQL.
 */
function endToEndOnMysql(): string[] {
  if (LONG) return ["test/e2e/**/*.test.ts"];
  const files = [
    "first-steps", // from an empty schema to a daemon in sync, with the rights that init writes
    "strangers", // what others have made in the database
    "quick-start", // the statements of the page, from its table to a daemon in sync
    "quick-start-shell", // its commands, as they are typed
    "first-sync", // from the rows to the tokens, in several batches
    "database-faults", // what the driver's errors become, rights, connections that are cut
    "broken-read", // a stream of rows that breaks off
    "rotation-crash", // commits that a kill or a cut leaves in doubt
    "crashed-server", // commits that a crash of the server takes back
    "told-to-stop", // a lock that is waited for
    "documented-rights", // the GRANTs in docs/databases.md
    "database-logs", // what the server's log holds of them
    "tls",
  ];
  return files.map((name) => `test/e2e/**/${name}.test.ts`);
}

export default defineConfig({
  test: {
    projects: [tests("postgres", EVERYTHING), tests("mysql", ON_MYSQL_TOO)],
    // Here and not in the projects: the servers are for all of them.
    globalSetup: ["test/support/databases/databases.ts"],
    reporters: ["default", tally],
    sequence: { sequencer: LongestFirst },
    // For two cores: tests wait for two thirds of their time.
    maxWorkers: 6,
  },
});

function tests(databaseKind: DatabaseKind, include: string[]): TestProjectConfiguration {
  return {
    test: {
      name: databaseKind,
      include,
      exclude: LEAVES_OUT,
      // A process runs many files: to start one for each, and to load everything in it again, takes longer than most tests.
      isolate: false,
      provide: { databaseKind },
      // Against a test that hangs: slow machines have run the slowest at a third of this. A long run repeats more.
      testTimeout: LONG ? 1_800_000 : 180_000,
      hookTimeout: 180_000,
    },
  };
}
