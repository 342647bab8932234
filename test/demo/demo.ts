import { constants } from "node:os";
import { paint, print } from "./page.ts";
import { openStage } from "./stage.ts";
import { SANDBOX, tellStory } from "./story.ts";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

const stopping = new AbortController();
/** Never removes these listeners: a second Ctrl-C must not interrupt the clean-up. */
for (const signal of SIGNALS) process.on(signal, () => stopping.abort(signal));
/** The reader of the output has gone, as in `npm run demo | head`. */
process.stdout.on("error", () => stopping.abort("SIGPIPE"));

print(
  `${paint("bold", "groupsync, on its own little stage.")} It takes ten seconds and leaves nothing behind.`,
);
try {
  const stage = await openStage(SANDBOX);
  try {
    await tellStory(stage, stopping.signal);
  } finally {
    await stage.close();
  }
} catch (error) {
  if (!stopping.signal.aborted) throw error;
  print("\nStopped, and cleaned up.");
  const signal: keyof typeof constants.signals = stopping.signal.reason;
  process.exitCode = 128 + constants.signals[signal];
}
