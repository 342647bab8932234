import { hostClock } from "../adapters/host/clock.ts";
import { createLogger } from "../adapters/log/logger.ts";
import { runLog } from "../adapters/log/run-log.ts";
import { progressBar } from "../adapters/terminal/progress-bar.ts";
import { fanOut } from "../core/report/fan-out.ts";
import type { LogLevel } from "../ports/log.ts";
import type { Observe } from "../ports/observer.ts";
import type { Host } from "./host.ts";

/** Shows a run on standard error. If that fails for the first time, `complain` gets the reason in one line. */
export async function observer(
  { terminal }: Host,
  level: LogLevel,
  complain: (problem: string) => void,
): Promise<Observe> {
  // At any other level than info, the log shows more or less than a progress bar would.
  const isBar = terminal !== undefined && level === "info";
  const tell = isBar
    ? progressBar(terminal, hostClock)
    : runLog(await createLogger(level, terminal !== undefined), hostClock);
  return fanOut([tell], complain);
}
