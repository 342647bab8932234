import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer } from "node:net";
import { benchPostgres } from "./databases.ts";
import { median, PROGRAM, withFolder, writeConfig } from "./world.ts";

const ROUNDS = 11;
const TENANTS = 1_000;

/** What is timed, and how many times as long as a Node.js that does nothing it may take. */
interface Timed {
  readonly name: string;
  readonly atMost?: number;
  readonly time: () => Promise<number>;
}

/**
 * (e) From the start of the process to its end, to its first call to the service, or to the first row that it reads, each
 * against a Node.js that does nothing, in turns.
 */
export async function benchStart(): Promise<void> {
  await withFolder(async (folder) => {
    const database = await benchPostgres();
    const service = await startListener();
    const line = await startLine(database.url);
    try {
      await database.createCustomers(TENANTS);
      const config = writeConfig(folder, line.url, { baseUrl: service.baseUrl, apiKey: "key" }, 1, {
        http: { listen: "127.0.0.1:0" },
      });
      const command = (name: string) => [PROGRAM, "--config", config, "--log-level", "silent", name];
      const all: readonly Timed[] = [
        { name: "--version, to its end", atMost: 2, time: () => untilEnd([PROGRAM, "--version"]) },
        { name: "--help, to its end", atMost: 2, time: () => untilEnd([PROGRAM, "--help"]) },
        { name: "plan, to the first row", atMost: 4, time: () => until(line.rowRead(), command("plan")) },
        { name: "sync, to the first call", atMost: 4, time: () => until(service.called(), command("sync")) },
        { name: "run, to the first call", time: () => until(service.called(), command("run")) },
      ];
      // The tables are there from then on.
      await until(service.called(), command("sync"));

      const bare: number[] = [];
      const times = all.map((): number[] => []);
      for (let round = 0; round < ROUNDS; round++) {
        bare.push(await untilEnd(["-e", "0"]));
        for (const [index, { time }] of all.entries()) times[index]?.push(await time());
      }
      console.log(`(e) start, ${TENANTS} tenants, medians of ${ROUNDS} rounds`);
      console.log(`    ${"node -e 0, to its end".padEnd(24)} ${median(bare).toFixed(0).padStart(5)} ms`);
      for (const [index, { name, atMost }] of all.entries()) {
        const taken = times[index] ?? [];
        const ratio = median(taken.map((ms, round) => ms / (bare[round] ?? Number.NaN)));
        const bound = atMost === undefined ? "" : ` (at most ${atMost})`;
        console.log(
          `    ${name.padEnd(24)} ${median(taken).toFixed(0).padStart(5)} ms, ratio ${ratio.toFixed(1)}${bound}`,
        );
      }
    } finally {
      line.stop();
      service.stop();
      await database.stop();
    }
  });
}

/** A service that is asked, and never ready to answer. */
async function startListener() {
  let onCall = (): void => {};
  const server = createServer((_request, response) => {
    onCall();
    response.writeHead(503).end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    called: () =>
      new Promise<void>((resolve) => {
        onCall = resolve;
      }),
    stop: () => server.close(),
  };
}

/** The line to the database, which knows when a tenant's row comes along. */
async function startLine(databaseUrl: string) {
  let onRow = (): void => {};
  const { hostname, port } = new URL(databaseUrl);
  const server = createTcpServer((client) => {
    const upstream = connect(Number(port), hostname);
    client.pipe(upstream).pipe(client);
    upstream.on("data", (chunk) => {
      if (chunk.includes("tenant-")) onRow();
    });
    // A program that was told to stop may leave either end open, or cut it.
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on("error", () => {}).on("close", () => other.destroy());
    }
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(databaseUrl);
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    rowRead: () =>
      new Promise<void>((resolve) => {
        onRow = resolve;
      }),
    stop: () => server.close(),
  };
}

async function untilEnd(args: readonly string[]): Promise<number> {
  const startedAt = performance.now();
  const [code] = await once(spawn(process.execPath, args, { stdio: "ignore" }), "exit");
  if (code !== 0) throw new Error(`node ${args.join(" ")} ended with ${code}`);
  return performance.now() - startedAt;
}

async function until(event: Promise<void>, args: readonly string[]): Promise<number> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, args, { stdio: "ignore" });
  const ended = once(child, "exit").then(() => {
    throw new Error(`node ${args.join(" ")} ended before it had come so far`);
  });
  await Promise.race([event, ended]);
  const ms = performance.now() - startedAt;
  child.kill("SIGTERM");
  await ended.catch(() => {});
  return ms;
}
