import { readFileSync } from "node:fs";
import { startSandbox } from "../../src/sandbox/server.ts";
import { behindTls } from "../support/servers/behind-tls.ts";
import type { StartTlsSandbox } from "./program.ts";

/**
 * Serves the sandbox over TLS, which `groupsync sandbox` does not, until `stop`: benchmarks measure it as production is. Prints what
 * `groupsync sandbox` prints first.
 */
export async function serveTls(
  [certFile, keyFile, existing]: Parameters<StartTlsSandbox>,
  print: (text: string) => void,
  stop: AbortSignal,
): Promise<void> {
  const sandbox = await startSandbox({ existing });
  const certificate = { cert: readFileSync(certFile, "utf8"), key: readFileSync(keyFile, "utf8") };
  const front = await behindTls(sandbox.baseUrl, certificate);
  print(`service:\n  base_url: ${front.baseUrl}\n  api_key: ${sandbox.apiKey}\n`);
  if (!stop.aborted) await new Promise((resolve) => stop.addEventListener("abort", resolve));
  front.close();
  await sandbox.close();
}
