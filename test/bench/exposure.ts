import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { startPostgres } from "../support/embedded-postgres.ts";
import { answerTimes } from "./answer-times.ts";
import { createCustomers } from "./customers.ts";
import {
  median,
  quantile,
  runProgram,
  runSync,
  type Service,
  startService,
  withFolder,
  writeConfig,
} from "./world.ts";

const BARE_ROTATION = fileURLToPath(new URL("bare-rotation.ts", import.meta.url));

const TENANTS = 300;
const ROUNDS = 5;
const CHANNEL = "groupsync_tokens";

/**
 * (c) How long a rotated tenant is locked out: from the moment when the service's answer to POST has gone out until
 * another connection, which listens to `tokens.notify`, is told by the server that the new token is there to be read.
 * It holds the way of the answer to the program, all that the program does, the commit, and the notification's way.
 * Beside it, from call to answer, the commit of one row by a program that rotates as bluntly as can be.
 */
export async function benchExposure(): Promise<void> {
  await withFolder(async (folder) => {
    const database = await startPostgres({ durable: true });
    const service = await startService(folder);
    const answers = await answerTimes(service.baseUrl);
    const observer = new pg.Client(database.url);
    try {
      await createCustomers(database.url, TENANTS);
      const config = writeConfig(folder, database.url, { ...service, baseUrl: answers.baseUrl }, 16, {
        tokens: { notify: CHANNEL },
      });
      await runSync(config);
      await observer.connect();
      const visible = new Map<string, number>();
      observer.on("notification", ({ payload = "" }) => visible.set(payload, performance.now()));
      await observer.query(`LISTEN ${CHANNEL}`);
      const exposures: number[] = [];
      const commits: number[] = [];
      for (let round = 1; round <= ROUNDS; round++) {
        commits.push(...bareCommits(service, database.url));
        visible.clear();
        const { outcome } = await runProgram(config, ["rotate", "--all"]);
        if (outcome !== "ok" || visible.size !== TENANTS)
          throw new Error(`the rotation ended ${outcome}, and ${visible.size} tokens were seen`);
        for (const [id, seen] of visible) exposures.push(seen - (answers.answered.get(id) ?? Number.NaN));
      }

      const line = (name: string, times: readonly number[]): string =>
        `    ${name}  p50 ${median(times).toFixed(2)} ms, p99 ${quantile(times, 0.99).toFixed(2)} ms`;
      console.log(`(c) exposure of ${exposures.length} rotated tokens, one at a time, ${ROUNDS} rounds`);
      console.log(line("from answer to new token", exposures));
      console.log(line("a commit of one row     ", commits));
      console.log(
        `    ratio  p50 ${(median(exposures) / median(commits)).toFixed(2)} (at most 3), p99 ${(quantile(exposures, 0.99) / quantile(commits, 0.99)).toFixed(2)}`,
      );
    } finally {
      await observer.end();
      answers.close();
      await service.stop();
      await database.stop();
    }
  });
}

/** In milliseconds. */
function bareCommits(service: Service, databaseUrl: string): number[] {
  const args = [service.baseUrl, service.apiKey, databaseUrl, String(TENANTS)];
  return JSON.parse(
    execFileSync(process.execPath, ["--import", "tsx", BARE_ROTATION, ...args], { encoding: "utf8" }),
  );
}
