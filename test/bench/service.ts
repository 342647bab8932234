import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parse } from "yaml";
import type { RequestReport } from "../../src/sandbox/request-counts.ts";
import { behindTls } from "../support/servers/behind-tls.ts";
import { aSelfSignedCertificate } from "../support/servers/certificates.ts";
import { runBare } from "./bare/run.ts";
import type { Bench } from "./benchmark.ts";
import type { ConfigFile } from "./config.ts";
import { type Measured, measured, startGroupsync } from "./program.ts";

export interface Service {
  readonly baseUrl: string;
  readonly apiKey: string;
  /** The file of the service's certificate; undefined without TLS. */
  readonly certFile: string | undefined;
  /** What a client's environment needs to trust that certificate; undefined without TLS. */
  readonly trust: Readonly<Record<string, string>> | undefined;
}

/**
 * Runs the sandbox behind TLS, as production is, for as long as `use` takes. This process takes part in each call then, as a
 * load balancer does. `existing`: what a GET does to a group that is there.
 */
export const withTlsService = <T>(
  { folder }: Pick<Bench, "folder">,
  existing: "keep" | "update",
  use: (service: Service) => Promise<T>,
): Promise<T> =>
  withService(["--existing", existing], async (sandbox) => {
    const certFile = join(folder, "certificate.pem");
    const certificate = await aSelfSignedCertificate();
    await writeFile(certFile, certificate.cert);
    const { baseUrl, close } = await behindTls(sandbox.baseUrl, certificate);
    try {
      return await use({ ...sandbox, baseUrl, certFile, trust: { NODE_EXTRA_CA_CERTS: certFile } });
    } finally {
      close();
    }
  });

/** Runs the sandbox with these flags, for as long as `use` takes. */
export async function withService<T>(
  flags: readonly string[],
  use: (service: Service) => Promise<T>,
): Promise<T> {
  const sandbox = startGroupsync(["sandbox", "--port", "0", ...flags]);
  try {
    const lines: string[] = [];
    for await (const line of createInterface(sandbox.stdout)) {
      lines.push(line);
      if (line.includes("api_key:")) break;
    }
    const announced = parse(lines.join("\n"));
    if (announced === null) throw new Error(`the sandbox did not start: ${sandbox.stderr()}`);
    return await use({
      baseUrl: announced.service.base_url,
      apiKey: announced.service.api_key,
      certFile: undefined,
      trust: undefined,
    });
  } finally {
    sandbox.stop();
    await sandbox.ended;
  }
}

/** Measures a sync. Rejects if it sends another number of requests than it should. */
export async function measuredSync(
  { trust }: Pick<Service, "trust">,
  { flags }: ConfigFile,
  requests: number,
): Promise<Measured> {
  const result = await measured(() => startGroupsync([...flags, "sync", "--json"], trust));
  if (result.requests !== requests)
    throw new Error(`a sync sent ${result.requests} requests in place of ${requests}`);
  return result;
}

/** What the service has counted so far. */
export async function requestsTo({ baseUrl, apiKey }: Service): Promise<RequestReport> {
  const answer = await fetch(`${baseUrl}/sandbox/requests`, {
    headers: { authorization: `Token ${apiKey}` },
  });
  return (await answer.json()) as RequestReport;
}

/** How many groups per second a loop gets that does nothing else. */
export async function bareRate(
  { baseUrl, apiKey, trust }: Service,
  requests: number,
  concurrency: number,
  connections: "kept" | "default" = "kept",
): Promise<number> {
  const args = [baseUrl, apiKey, String(requests), String(concurrency), connections];
  return Number(await runBare("loop.mjs", args, trust));
}

/** The same for a loop that stores in a database what a crash must not lose. */
export async function storingRate(
  { baseUrl, apiKey, trust }: Service,
  requests: number,
  concurrency: number,
  databaseUrl: string,
): Promise<number> {
  const args = [baseUrl, apiKey, String(requests), String(concurrency), databaseUrl];
  return Number(await runBare("storing-loop.mjs", args, trust));
}

/** The same for a loop in Python that makes one call after the other, each over a connection of its own. Needs TLS. */
export async function pythonRate(
  { baseUrl, apiKey, certFile = "" }: Service,
  requests: number,
): Promise<number> {
  return Number(await runBare("loop.py", [baseUrl, apiKey, String(requests), certFile]));
}
