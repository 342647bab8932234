import { destination, type Logger, pino } from "pino";
import type { LogLevel } from "../../core/log-level.ts";
import { noCounts } from "../../core/outcome.ts";
import { printable, visible } from "../../core/printable.ts";

/** Lines of JSON on standard error; readable ones on a terminal. */
export async function createLogger(level: LogLevel, isTerminal: boolean): Promise<Logger> {
  const options = { level, base: null, timestamp: () => `,"time":"${new Date().toISOString()}"` };
  if (!isTerminal)
    return pino(
      { ...options, formatters: { level: (label) => ({ level: label }) }, hooks: { streamWrite: visible } },
      stderr(),
    );
  const { default: pretty } = await import("pino-pretty");
  return pino(
    { ...options, formatters: { log: printableFields } },
    pretty({
      destination: 2,
      sync: true,
      ignore: SAID_IN_THE_MESSAGE.join(),
      translateTime: "SYS:HH:MM:ss",
      messageFormat: (line, key) => printable(String(line[key]), LONGEST_TEXT),
    }),
  );
}

const LONGEST_TEXT = 2_000;

/** On a terminal; a machine that reads the log has them as fields. */
const SAID_IN_THE_MESSAGE = [
  "run",
  "command",
  "outcome",
  ...Object.keys(noCounts()),
  "requests",
  "duration_ms",
];

/** Ids and the service's words come from outside: in JSON they are harmless, on a terminal they are not. */
const printableFields = (fields: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [printable(name), printableField(value)]));

function printableField(value: unknown): unknown {
  if (typeof value === "string") return printable(value, LONGEST_TEXT);
  if (Array.isArray(value)) return value.map(printableField);
  const isPlain =
    typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
  return isPlain ? printableFields({ ...value }) : value;
}

/**
 * Written at once: a line must not be lost when the process is killed. What can't be written, as to a full disk,
 * is tried again with the next line, up to a limit; the run doesn't end for it.
 */
const stderr = () => destination({ fd: 2, sync: true, maxLength: MAX_UNWRITTEN }).on("error", () => {});

/** In characters. */
const MAX_UNWRITTEN = 1_000_000;
