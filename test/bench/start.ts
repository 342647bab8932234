import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { benchPostgres } from "./databases.ts";
import { median, PROGRAM, withFolder, writeConfig } from "./world.ts";

const ROUNDS = 11;
const TENANTS = 1_000;

/** From the start of the process to its first call to the service, against a Node.js that does nothing, in turns. */
export async function benchStart(): Promise<void> {
  await withFolder(async (folder) => {
    const database = await benchPostgres();
    const service = await startListener();
    try {
      await database.createCustomers(TENANTS);
      const config = writeConfig(folder, database.url, { baseUrl: service.baseUrl, apiKey: "key" }, 1, {
        http: { listen: "127.0.0.1:0" },
      });
      const bare: number[] = [];
      const commands = { sync: [] as number[], run: [] as number[] };
      for (let round = 0; round < ROUNDS; round++) {
        bare.push(await wholeProcess());
        for (const command of ["sync", "run"] as const) {
          commands[command].push(await untilFirstCall(config, command, service.called));
        }
      }
      console.log(`(e) start to first call, ${TENANTS} tenants, medians of ${ROUNDS} rounds`);
      console.log(`    node -e 0      ${median(bare).toFixed(0)} ms, start to end`);
      for (const [command, times] of Object.entries(commands)) {
        const ratio = median(times.map((time, round) => time / (bare[round] ?? Number.NaN)));
        console.log(
          `    groupsync ${command.padEnd(4)} ${median(times).toFixed(0)} ms, ratio ${ratio.toFixed(1)}`,
        );
      }
    } finally {
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

async function wholeProcess(): Promise<number> {
  const startedAt = performance.now();
  await once(spawn(process.execPath, ["-e", "0"], { stdio: "ignore" }), "exit");
  return performance.now() - startedAt;
}

async function untilFirstCall(config: string, command: string, called: () => Promise<void>): Promise<number> {
  const call = called();
  const startedAt = performance.now();
  const child = spawn(process.execPath, [PROGRAM, "--config", config, "--log-level", "silent", command], {
    stdio: "ignore",
  });
  await call;
  const ms = performance.now() - startedAt;
  child.kill("SIGTERM");
  await once(child, "exit");
  return ms;
}
