/** The daemon logs here what it does between its runs. A run has its own events. */
export type Log = (entry: LogEntry) => void;

export interface LogEntry {
  readonly level: "debug" | "info" | "warn" | "error";
  readonly message: string;
  readonly code?: string;
  /** What an operator can do about it. */
  readonly hint?: string | undefined;
}

/** From the level that logs everything to the level that logs nothing. */
export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];
