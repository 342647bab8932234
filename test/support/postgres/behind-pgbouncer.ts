import { onTestFinished } from "vitest";
import { serverUrl } from "../databases/database-server.ts";
import { type PgbouncerOptions, startPgbouncer } from "./pgbouncer.ts";

/** The same database through a PgBouncer that the running test has for itself. */
export async function behindPgbouncer(url: string, options: PgbouncerOptions): Promise<string> {
  const pooler = await startPgbouncer(serverUrl("postgres"), options);
  onTestFinished(() => pooler.stop());
  return Object.assign(new URL(url), { port: String(pooler.port), hostname: "127.0.0.1" }).href;
}
