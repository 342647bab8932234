import { EventEmitter, once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { benchmark, median } from "./benchmark.ts";
import { writeConfig } from "./config.ts";
import { watchedLine } from "./line.ts";
import { outputOf, type Running, startGroupsync, startProgram, whileRunning } from "./program.ts";

interface Sizes {
  readonly tenants: number;
  readonly rounds: number;
}

/** What is timed, and the most time that it may take, as a multiple of the time of a Node.js that does nothing. */
interface Timed {
  readonly name: string;
  readonly atMost?: number;
  readonly time: () => Promise<number>;
}

/**
 * (e) The time from the start of the process to its end, to its first call to the service, or to the first row that it
 * reads. Each is compared with a Node.js that does nothing; the two run in turns.
 */
export const start = benchmark<Sizes>({
  server: "postgres",
  full: { tenants: 1_000, rounds: 11 },
  tiny: { tenants: 2, rounds: 1 },

  async run({ database, folder, print }, { tenants, rounds }) {
    await database.createCustomers(tenants);
    const service = createServer((_request, response) => response.writeHead(503).end());
    service.listen(0, "127.0.0.1");
    await once(service, "listening");
    const rows = new EventEmitter();
    const line = await watchedLine(database.url, () => ({
      answered: (chunk) => chunk.includes("tenant-") && rows.emit("row"),
    }));
    try {
      const baseUrl = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
      const configFor = (url: string) =>
        writeConfig(folder, url, { baseUrl, apiKey: "key" }, 1, { http: { listen: "127.0.0.1:0" } });
      const silent = (url: string, command: string) =>
        startGroupsync([...configFor(url).flags, "--log-level", "silent", command]);
      const toEnd = (flag: string) => timeToEnd(() => startGroupsync([flag]));
      const toFirstRow = (command: string) => timeTo(once(rows, "row"), () => silent(line.url, command));
      const toFirstCall = (command: string) =>
        timeTo(once(service, "request"), () => silent(database.url, command));
      const all: readonly Timed[] = [
        { name: "--version, to its end", atMost: 2, time: () => toEnd("--version") },
        { name: "--help, to its end", atMost: 2, time: () => toEnd("--help") },
        { name: "plan, to the first row", atMost: 4, time: () => toFirstRow("plan") },
        { name: "sync, to the first call", atMost: 4, time: () => toFirstCall("sync") },
        { name: "run, to the first call", time: () => toFirstCall("run") },
      ];
      // After this sync the tables exist.
      await toFirstCall("sync");

      const bare: number[] = [];
      const times = all.map((): number[] => []);
      for (let round = 0; round < rounds; round++) {
        bare.push(await timeToEnd(() => startProgram(process.execPath, ["-e", "0"])));
        for (const [index, { time }] of all.entries()) times[index]?.push(await time());
      }
      print(`(e) start, ${tenants} tenants, medians of ${rounds} rounds`);
      const row = (name: string, taken: readonly number[], more = "") =>
        print(`    ${name.padEnd(24)} ${median(taken).toFixed(0).padStart(5)} ms${more}`);
      row("node -e 0, to its end", bare);
      for (const [index, { name, atMost }] of all.entries()) {
        const taken = times[index] ?? [];
        const ratio = median(taken.map((ms, round) => ms / (bare[round] ?? Number.NaN)));
        const bound = atMost === undefined ? "" : ` (at most ${atMost})`;
        row(name, taken, `, ratio ${ratio.toFixed(1)}${bound}`);
      }
    } finally {
      line.close();
      service.close();
    }
  },
});

async function timeToEnd(start: () => Running): Promise<number> {
  const startedAt = performance.now();
  await outputOf(start());
  return performance.now() - startedAt;
}

async function timeTo(event: Promise<unknown>, start: () => Running): Promise<number> {
  const startedAt = performance.now();
  const program = start();
  program.stdout.resume();
  await whileRunning(program, event);
  const ms = performance.now() - startedAt;
  program.stop();
  await program.ended;
  return ms;
}
