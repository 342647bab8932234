import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../support/servers/embedded-server.ts";
import { heading, print, typed } from "./page.ts";
import type { Stage } from "./stage.ts";

/**
 * Runs the daemon, and prints the address of its page, until the signal aborts: then it resolves. Rejects with the
 * signal's reason if the signal aborts before the page is there.
 */
export async function keepDaemon(stage: Stage, signal: AbortSignal): Promise<void> {
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
