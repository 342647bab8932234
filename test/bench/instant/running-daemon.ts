import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../../support/servers/embedded-server.ts";
import type { Bench } from "../benchmark.ts";
import { writeConfig } from "../config.ts";
import { startGroupsync, whileRunning } from "../program.ts";
import type { Service } from "../service.ts";

const SYNC_KEY = "a-key-of-more-than-sixteen-characters";
/** No full sync follows the first one. */
const NEVER = "0 0 29 2 *";
const POLL_MS = 50;

/** `groupsync run` beside a benchmark. */
export interface RunningDaemon {
  readonly pid: number | undefined;
  /** Resolves when the first full sync has ended. */
  ran(): Promise<void>;
  /** Asks for one tenant's token. Rejects unless the reply says that it is stored. */
  post(id: string): Promise<void>;
}

/** Keys of the config beside those of every benchmark. */
interface Keys {
  readonly service: object;
  readonly changes: object;
}

/** Runs a daemon for as long as `use` takes. Rejects if the daemon ends first. */
export async function withDaemon<T>(
  { database, folder }: Bench,
  service: Service,
  { changes, service: more }: Keys,
  use: (daemon: RunningDaemon) => Promise<T>,
): Promise<T> {
  const listen = `127.0.0.1:${await freePort()}`;
  const config = writeConfig(folder, database.url, service, 16, {
    service: { base_url: service.baseUrl, api_key: service.apiKey, ...more },
    source: { url: database.url, table: "customers", changes },
    schedule: NEVER,
    http: { listen, sync_key: SYNC_KEY },
  });
  const program = startGroupsync([...config.flags, "run"]);
  program.stdout.resume();
  const hasRun = async (): Promise<boolean> => {
    const answer = await fetch(`http://${listen}/metrics`).catch(() => undefined);
    return /^groupsync_runs_total\{.*\} [1-9]/m.test((await answer?.text()) ?? "");
  };
  try {
    const used = use({
      pid: program.pid,
      async ran() {
        while (!(await hasRun())) await sleep(POLL_MS);
      },
      async post(id) {
        const answer = await fetch(`http://${listen}/sync/${id}?wait=60s`, {
          method: "POST",
          headers: { authorization: `Bearer ${SYNC_KEY}` },
        });
        const text = await answer.text();
        if (answer.status !== 200) throw new Error(`POST /sync: ${answer.status} ${text}`);
      },
    });
    return await whileRunning(program, used);
  } finally {
    program.stop();
    await program.ended;
  }
}
