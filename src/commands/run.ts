import { once } from "node:events";
import { Command } from "commander";
import { EXIT } from "../core/report/exit-code.ts";
import type { Lifecycle } from "../daemon/lifecycle.ts";
import type { CommandContext, CommandIo } from "./context.ts";

export const runCommand = ({ io, flagsOf, version }: CommandContext): Command =>
  new Command("run")
    .description("sync on the schedule until told to stop, with a status page, probes and metrics")
    .action(async (_flags: unknown, command: Command) => {
      const { config, logLevel } = flagsOf(command);
      const { composeDaemon } = await import("../compose/daemon.ts");
      await run(await composeDaemon(config, io, { version, logLevel }), io);
    });

/** Runs the daemon until the process is told to stop. */
export async function run(lifecycle: Lifecycle, io: CommandIo): Promise<void> {
  await lifecycle.begin();
  io.onReload(() => void lifecycle.reload());
  if (!io.stop.aborted) await once(io.stop, "abort");
  // Exit explicitly: a timer may be left, such as a scheduled time that waits an hour for its jitter.
  io.quit((await lifecycle.end()) ? EXIT.done : EXIT.failed);
}
