import { readFileSync } from "node:fs";
import { startSandbox } from "../../src/sandbox/server.ts";
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
  const sandbox = await startSandbox({
    tls: { cert: readFileSync(certFile, "utf8"), key: readFileSync(keyFile, "utf8") },
    existing,
  });
  print(`service:\n  base_url: ${sandbox.baseUrl}\n  api_key: ${sandbox.apiKey}\n`);
  if (!stop.aborted) await new Promise((resolve) => stop.addEventListener("abort", resolve));
  await sandbox.close();
}
