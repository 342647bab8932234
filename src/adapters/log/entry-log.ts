import type { Logger } from "pino";
import type { Log } from "../../ports/log.ts";

/** Writes what the daemon says between its runs to the log. */
export const logTo =
  (logger: Logger): Log =>
  ({ level, message, ...fields }) =>
    logger[level](fields, message);
