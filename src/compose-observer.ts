import { hostClock } from "./adapters/host/clock.ts";
import { createLogger } from "./adapters/log/logger.ts";
import { runLog } from "./adapters/log/run-log.ts";
import { progressBar } from "./adapters/terminal/progress-bar.ts";
import type { Host } from "./compose.ts";
import { toEach } from "./core/listeners.ts";
import type { LogLevel } from "./core/log-level.ts";
import type { Observe } from "./ports/observer.ts";

/** What a command tells of its run on standard error. `complain` is told where it can't: that ends no run. */
export async function observer(
  { terminal }: Host,
  level: LogLevel,
  complain: (problem: string) => void,
): Promise<Observe> {
  // On a terminal the bar says it all; asked for more, the log does.
  const isBar = terminal !== undefined && level === "info";
  const tell = isBar
    ? progressBar(terminal, hostClock)
    : runLog(await createLogger(level, terminal !== undefined), hostClock);
  return toEach([tell], complain);
}
