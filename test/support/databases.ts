import type { TestProject } from "vitest/node";
import { startPostgres } from "./embedded-postgres.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** A role that may create databases on the server of this test run. */
    postgresUrl: string;
  }
}

/** vitest's global setup: one PostgreSQL for the whole run, or the one that the environment names. */
export default async function databases(project: TestProject): Promise<() => Promise<void>> {
  const given = process.env.GROUPSYNC_TEST_POSTGRES_URL;
  if (given) {
    project.provide("postgresUrl", given);
    return async () => {};
  }
  // Far from UTC and off the full hour: whoever forgets the session's time zone should find out here.
  const server = await startPostgres({ settings: { timezone: "Asia/Kathmandu" } });
  project.provide("postgresUrl", server.url);
  return server.stop;
}
