import { constants } from "node:os";
import { keepRunning } from "./keep.ts";
import { paint, print } from "./page.ts";
import { openStage } from "./stage.ts";
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
    "usage: npm run demo [-- --keep]   --keep: leaves the daemon and an application running, until Ctrl-C",
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
    if (keep) await keepRunning(stage, stopping.signal);
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
