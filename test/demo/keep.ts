import { randomBytes } from "node:crypto";
import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { freePort, startSupervised } from "../support/servers/embedded-server.ts";
import { heading, print, typed } from "./page.ts";
import type { Stage } from "./stage.ts";

/** What the daemon needs in the config beside what `sync` needs. The schedule has seconds. */
const DAEMON_KEYS = `schedule: "*/10 * * * * *"
http:
  sync_key: \${GROUPSYNC_SYNC_KEY}  # with it, your application asks for one tenant
`;

/**
 * Runs the daemon and the example application, and prints their addresses, until the signal aborts: then it resolves.
 * Rejects with the signal's reason if the signal aborts before both are there.
 */
export async function keepRunning(stage: Stage, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const listen = `127.0.0.1:${await freePort()}`;
  const syncKey = randomBytes(24).toString("hex");
  appendFileSync(join(stage.folder, "config.yaml"), DAEMON_KEYS);
  stage.env.GROUPSYNC_HTTP_LISTEN = listen;
  stage.env.GROUPSYNC_SYNC_KEY = syncKey;
  // The page shows what happens. Its log would move the addresses out of sight.
  stage.env.GROUPSYNC_LOG_LEVEL = "error";

  heading("run is the daemon: it syncs every ten seconds, and at once when your application asks");
  typed("$", "tail -n 3 config.yaml");
  print(DAEMON_KEYS);
  typed("$", "groupsync run &");
  const ended = stage.shell("groupsync run", signal).then((code) => {
    throw new Error(`the daemon has ended: exit code ${code}`);
  });
  await Promise.race([ended, untilAnswered(`http://${listen}/readyz`, signal)]);
  typed("$", "node examples/application/server.js &");
  const application = await startApplication(stage, {
    GROUPSYNC_URL: `http://${listen}`,
    GROUPSYNC_SYNC_KEY: syncKey,
  });
  try {
    print(
      `\nThe application: ${application.address}  Sign up as a new customer: your dashboard is there at once.`,
    );
    print(`The status page: http://${listen}/`);
    print(`The database, if you want to change customers: psql '${stage.databaseUrl}'`);
    print("\nCtrl-C ends and removes everything.");
    await ended.catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  } finally {
    await application.stop();
  }
}

const APPLICATION = new URL("../../examples/application/", import.meta.url);

/** Starts the application of examples, with a role and a table of its own in the database of the demo. */
async function startApplication(
  { database, databaseUrl, sandbox }: Stage,
  env: Readonly<Record<string, string>>,
): Promise<{ readonly address: string; stop(): Promise<void> }> {
  const app = { username: "app", password: randomBytes(12).toString("hex") };
  await database.query(`CREATE ROLE ${app.username} LOGIN PASSWORD '${app.password}'`);
  await database.query(NEW_CUSTOMERS);
  await database.query(readFileSync(new URL("application.sql", APPLICATION), "utf8"));
  // As groupsync init writes it, for the application.
  await database.query(`GRANT USAGE ON SCHEMA groupsync_tokens TO app;
    GRANT SELECT ON groupsync_tokens.tokens TO app`);
  const port = String(await freePort());
  const { stop } = await startSupervised({
    name: "the application",
    command: [process.execPath, fileURLToPath(new URL("server.js", APPLICATION))],
    env: {
      ...env,
      PORT: port,
      DATABASE_URL: Object.assign(new URL(databaseUrl), app).href,
      DASHBOARDS_URL: sandbox.baseUrl,
    },
    readyWhen: "The application:",
  });
  return { address: `http://127.0.0.1:${port}/`, stop };
}

/** What a customer who signs up begins with. */
const NEW_CUSTOMERS = `ALTER TABLE customers
  ALTER plan SET DEFAULT 'starter', ALTER seats SET DEFAULT 5, ALTER region SET DEFAULT 'eu-west',
  ALTER data_source_id SET DEFAULT 'ds-eu-9900', ALTER status SET DEFAULT 'active'`;

async function untilAnswered(url: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    const answer = await fetch(url, { signal }).catch(() => undefined);
    if (answer?.ok) return;
    await sleep(100, undefined, { signal });
  }
}
