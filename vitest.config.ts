import { defineConfig } from "vitest/config";
import { tally } from "./test/support/tally.ts";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/databases.ts"],
    reporters: ["default", tally],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Two cores and one database server: files run beside each other, but not many.
    maxWorkers: 2,
  },
});
