import { once } from "node:events";
import { readFileSync } from "node:fs";
import { startSandbox } from "../../src/sandbox/server.ts";

/*
 * A process of its own that serves the sandbox over TLS, which `groupsync sandbox` does not: benchmarks measure it as
 * production is. Prints what `groupsync sandbox` prints first. Arguments: certificate, key, and what a GET does to a group that is there.
 */
const [certFile = "", keyFile = "", existing] = process.argv.slice(2);
const sandbox = await startSandbox({
  tls: { cert: readFileSync(certFile, "utf8"), key: readFileSync(keyFile, "utf8") },
  existing: existing === "update" ? "update" : "keep",
});
console.log(`service:\n  base_url: ${sandbox.baseUrl}\n  api_key: ${sandbox.apiKey}`);
await once(process, "SIGTERM");
await sandbox.close();
