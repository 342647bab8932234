import { constants } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../support/servers/embedded-server.ts";
import { heading, paint, print, typed } from "./page.ts";
import { openStage, type Stage } from "./stage.ts";
import { SANDBOX, tellStory } from "./story.ts";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

const stopping = new AbortController();
/** Never removes these listeners: a second Ctrl-C must not interrupt the clean-up. */
for (const signal of SIGNALS) process.on(signal, () => stopping.abort(signal));
/** The reader of the output has gone, as in `npm run demo | head`. */
process.stdout.on("error", () => stopping.abort("SIGPIPE"));

const [flag, ...more] = process.argv.slice(2);
const keep = flag === "--keep";
if ((flag !== undefined && !keep) || more.length > 0) {
  print(
    "usage: npm run demo [-- --keep]   --keep: leaves the daemon running, with its status page, until Ctrl-C",
  );
  process.exit(64);
}

print(
  `${paint("bold", "groupsync, on its own little stage.")} It takes about ten seconds and leaves nothing behind.`,
);
try {
  const stage = await openStage(SANDBOX);
  try {
    await tellStory(stage, stopping.signal, keep);
    if (keep) await keepDaemon(stage, stopping.signal);
  } finally {
    await stage.close();
  }
  if (keep) print("\nStopped, and cleaned up.");
} catch (error) {
  if (!stopping.signal.aborted) throw error;
  print("\nStopped, and cleaned up.");
  const signal: keyof typeof constants.signals = stopping.signal.reason;
  process.exitCode = 128 + constants.signals[signal];
}

/**
 * Runs the daemon, and prints the address of its page, until the signal aborts: then it resolves. Rejects with the
 * signal's reason if the signal aborts before the page is there.
 */
async function keepDaemon(stage: Stage, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const listen = `127.0.0.1:${await freePort()}`;
  stage.env.GROUPSYNC_HTTP_LISTEN = listen;
  // The page shows what happens. Its log would move the address out of sight.
  stage.env.GROUPSYNC_LOG_LEVEL = "error";

  heading("run is the daemon: it syncs every ten seconds, and has a status page");
  typed("$", "groupsync run");
  const ended = stage.shell("groupsync run", signal).then((code) => {
    throw new Error(`the daemon has ended: exit code ${code}`);
  });
  await Promise.race([ended, untilAnswered(`http://${listen}/readyz`, signal)]);
  print(`The status page: http://${listen}/`);
  print(`The database, if you want to change customers: psql '${stage.databaseUrl}'`);
  print("\nCtrl-C ends and removes everything.");
  await ended.catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}

async function untilAnswered(url: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    const answer = await fetch(url, { signal }).catch(() => undefined);
    if (answer?.ok) return;
    await sleep(100, undefined, { signal });
  }
}
