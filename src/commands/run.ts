import { once } from "node:events";
import { Command } from "commander";
import { EXIT } from "../core/report/exit-code.ts";
import type { Lifecycle } from "../daemon/lifecycle.ts";
import type { CommandIo } from "./command-io.ts";

/** `groupsync run`: the daemon. `open` reads the config. */
export function runCommand(io: CommandIo, open: (command: Command) => Promise<Lifecycle>): Command {
  return new Command("run")
    .description("sync on the schedule until told to stop, with a status page, probes and metrics")
    .action(async (_flags: unknown, command: Command) => {
      const lifecycle = await open(command);
      await lifecycle.begin();
      io.onReload(() => void lifecycle.reload());
      if (!io.signal.aborted) await once(io.signal, "abort");
      // Exit explicitly: a timer may be left, such as a tick that waits an hour for its jitter.
      io.quit((await lifecycle.end()) ? EXIT.done : EXIT.failed);
    });
}
