import { onTestFinished, TestRunner } from "vitest";
import { serverUrl } from "../databases/database-server.ts";
import { skipIfNotToBeHad } from "../servers/not-to-be-had.ts";
import { type PgbouncerOptions, startPgbouncer } from "./pgbouncer.ts";

/**
 * The same database through a PgBouncer that the running test has for itself. Skips the test if there is none to be had.
 */
export async function behindPgbouncer(url: string, options: PgbouncerOptions): Promise<string> {
  const pooler = await startPgbouncer(serverUrl("postgres"), options).catch((error: unknown) => {
    const test = TestRunner.getCurrentTest();
    if (!test) throw error;
    return skipIfNotToBeHad(error, test.context);
  });
  onTestFinished(() => pooler.stop());
  return Object.assign(new URL(url), { port: String(pooler.port), hostname: "127.0.0.1" }).href;
}
