import { destination, type Logger, pino } from "pino";
import pretty from "pino-pretty";

export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Lines of JSON on standard error; readable ones on a terminal. */
export function createLogger(level: LogLevel, isTerminal: boolean): Logger {
  const options = { level, base: null, timestamp: () => `,"time":"${new Date().toISOString()}"` };
  if (!isTerminal)
    return pino({ ...options, formatters: { level: (label) => ({ level: label }) } }, stderr());
  return pino(options, pretty({ destination: 2, sync: true, ignore: "run", translateTime: "SYS:HH:MM:ss" }));
}

/** Written at once: a line must not be lost when the process is killed. */
const stderr = () => destination({ fd: 2, sync: true });
