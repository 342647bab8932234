import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";

/** Another build may be measured: `GROUPSYNC_BENCH_PROGRAM=…/main.js`. */
export const PROGRAM =
  process.env.GROUPSYNC_BENCH_PROGRAM ?? fileURLToPath(new URL("../../dist/main.js", import.meta.url));

export interface Service {
  readonly baseUrl: string;
  readonly apiKey: string;
  /** PEM file to trust; undefined without TLS. */
  readonly certFile: string | undefined;
  stop(): Promise<void>;
}

/** The sandbox in a process of its own, as the service would be. */
export async function startService(folder: string, ...flags: string[]): Promise<Service> {
  const tls = flags.includes("--tls");
  const certFile = join(folder, "certificate.pem");
  const child = spawn(
    process.execPath,
    [PROGRAM, "sandbox", "--port", "0", ...flags, ...(tls ? ["--cert-file", certFile] : [])],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  const lines: string[] = [];
  for await (const line of createInterface(child.stdout)) {
    lines.push(line);
    if (line.includes("api_key:")) break;
  }
  const { service } = parse(lines.join("\n"));
  return {
    baseUrl: service.base_url,
    apiKey: service.api_key,
    certFile: tls ? certFile : undefined,
    stop: async () => {
      child.kill("SIGTERM");
      await once(child, "exit");
    },
  };
}

/** What `sync --json` or `rotate --json` reports, and what the process cost. */
export interface ProgramRun {
  readonly durationMs: number;
  readonly requests: number;
  readonly outcome: string;
  /** Of the whole process, start to end. */
  readonly wallMs: number;
  readonly peakRssMb: number;
}

/** One `groupsync sync` of the built program. */
export const runSync = (configFile: string, env: Record<string, string> = {}): Promise<ProgramRun> =>
  runProgram(configFile, ["sync"], env);

/** One command of the built program that reports with `--json`. */
export async function runProgram(
  configFile: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<ProgramRun> {
  const startedAt = performance.now();
  const child = spawn(
    process.execPath,
    [PROGRAM, "--config", configFile, "--log-level", "error", ...args, "--json"],
    { stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, ...env } },
  );
  let peakRssMb = 0;
  const watching = setInterval(() => {
    peakRssMb = Math.max(peakRssMb, peakRssOf(child.pid));
  }, 20);
  let out = "";
  child.stdout.on("data", (chunk) => {
    out += chunk;
  });
  await once(child, "close");
  clearInterval(watching);
  const report = JSON.parse(out);
  return {
    durationMs: report.duration_ms,
    requests: report.requests,
    outcome: report.outcome,
    wallMs: performance.now() - startedAt,
    peakRssMb,
  };
}

/** A sync that goes on until it is told to stop; it ends what it has begun. */
export function startSync(configFile: string): { stop(): Promise<void> } {
  const child = spawn(process.execPath, [PROGRAM, "--config", configFile, "--log-level", "error", "sync"], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  return {
    stop: async () => {
      child.kill("SIGTERM");
      await once(child, "exit");
    },
  };
}

/** The kernel's own high-water mark: a sample late in the run knows of every peak before it. */
function peakRssOf(pid: number | undefined): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

export async function withFolder<T>(body: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "groupsync-bench-"));
  try {
    return await body(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export function writeConfig(
  folder: string,
  databaseUrl: string,
  service: Pick<Service, "baseUrl" | "apiKey">,
  concurrency: number,
  more: Readonly<Record<string, unknown>> = {},
): string {
  const path = join(folder, "config.yaml");
  writeFileSync(
    path,
    JSON.stringify({
      service: { base_url: service.baseUrl, api_key: service.apiKey, concurrency },
      source: { url: databaseUrl, table: "customers" },
      group: {
        id: "id",
        name: "company_name",
        mapping: { 40: "data_source_id" },
        properties: { plan: "plan", seats: "seats" },
      },
      ...more,
    }),
  );
  return path;
}

export const median = (values: readonly number[]): number => quantile(values, 0.5);

/** The value that a share of `share`, 0 to 1, of the values is below. */
export const quantile = (values: readonly number[], share: number): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN;
